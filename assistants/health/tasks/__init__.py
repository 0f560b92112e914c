"""The built-in tasks of the assistant. Each module lists its tasks in `TASKS`."""
