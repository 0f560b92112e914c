"""The instructions of the model that proposes edits of judges' prompts."""
