"""[allenzhu] Backward feature correction: how deep learning performs deep learning."""
