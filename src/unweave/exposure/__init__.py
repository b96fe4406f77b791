"""How exposed a model is: what somebody learns of it who gets its answers in one form or another."""
