"""Health: an assistant that answers questions about a person's own health data. A planner chooses tasks, and code runs them.

The modules, in reading order:

assistant    writes a reply in three steps: plan, run the plan, write the text
task         defines the interface of a task; the modules of `tasks/` implement the tasks
plan         defines a plan, and checks it before anything runs
planner      asks a model for a plan: by tree of thought, by ReAct, or in one call
executor     runs the steps of a plan in parallel, each with a deadline
access       decides which subjects an API key may see
memory       stores the runs of a conversation for follow-up questions
uploads      reads tables and pictures that a user sends
writer       writes the text of a reply, and collects its evidence
recorded     answers demo questions with recorded plans, without a model
sources      reads and checks the files of a subject
tables       defines the columns of the files, and checks their rows
fhir         converts a FHIR bundle to tables
demo         builds synthetic subjects
pulse        finds heart beats in a PPG recording
settings     reads the options, and loads the tasks
"""
