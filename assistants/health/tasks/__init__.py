"""Tasks, one or a few in a module, which ends with `TASKS`."""
