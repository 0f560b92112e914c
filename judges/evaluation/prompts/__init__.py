"""The system prompt of the model that proposes edits of judges' prompts (tuner.md)."""
