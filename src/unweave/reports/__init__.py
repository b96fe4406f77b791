"""Results as text for the terminal and as files for a run folder. No numerics: numbers are only shown."""
