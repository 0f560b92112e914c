"""What Hippocrates must show, each with its command."""
