"""Health: answers questions about a person's own health data by tasks that a planner chooses.

In reading order:

assistant    a reply: plan, run, write
task         what a task is; `tasks/` has one in each module
plan         what a planner proposes, as data, and what can be wrong with it
planner      tree of thought, ReAct, one call
executor     runs steps at once, each with a deadline
access       who may see whose data
memory       what was run in a conversation, for its follow-ups
uploads      tables and pictures that a user sends
writer       what is said; without a model, the findings line by line
recorded     plans of the demo questions, for use without a model
sources      the data of subjects: files, checked
fhir         the same from a FHIR bundle
demo         synthetic subjects
settings     what config.yaml says, and which tasks there are
"""
