"""Health: answers questions about a person's own health data with tasks that a planner chooses.

In reading order:

assistant    a reply: plan, run, write
task         what a task is; `tasks/` has one in each module
plan         a planner's proposal as data, and its checks
planner      tree of thought, ReAct, one call
executor     runs steps in parallel, each with a deadline
access       the subjects that an API key may see
memory       runs of a conversation, for its follow-ups
uploads      tables and pictures that a user sends
writer       the text of a reply and its evidence
recorded     demo questions and their plans, for use without a model
sources      the data of subjects: files, checked
tables       columns of the files, and checks of their rows
fhir         tables from a FHIR bundle
demo         synthetic subjects
pulse        heart beats of a PPG recording
settings     options and tasks
"""
