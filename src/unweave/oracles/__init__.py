"""What may be asked: black boxes, their domains, their ledger and the noise of their answers."""
