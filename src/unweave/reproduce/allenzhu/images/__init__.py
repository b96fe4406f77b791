"""The image experiments of [allenzhu], Figures 1 to 14."""
