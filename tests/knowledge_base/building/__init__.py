"""Documents into sections of a knowledge base."""
