"""What runs: the stages of a fine-tuning run with MaxText, as JobSets in order."""
