"""What attacks cost a real `caf serve`, and everybody else meanwhile: one module for each family."""
