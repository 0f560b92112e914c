"""/console: what happens in turns, for people who would rather look than read a terminal. Rendered here, by Jinja; a few lines of
JavaScript stream, move by keyboard, and load fragments. Nothing of it is imported before somebody opens the console.

routes.py           its pages as a list, each with the permissions it takes; style sheets and scripts
admission.py        lets a request in: addresses, origin, session, CSRF token, permissions; errors as pages
session_store.py    who is signed in: in this process, or in Redis
form.py             reads forms, within limits
sign_in.py          signing in with a key, and out
console_request.py  an admitted request: who asks, and what they may see
render.py           templates, and the headers of every answer
words.py            what traces name by identifiers, in words
saved_files.py      reads the JSON files of experiments and evaluations, which may be damaged
journal.py          who looked at whose texts, labelled, deleted: to the audit log, or to the log

The screens, a module and a folder of templates each, with what they are made of, which is free of handlers:

playground.py       chat in the browser
  reply_facts.py      what became of one reply, from its `caf` object and its trace
  quote_marks.py      judges' quotes, marked in the text that they are from
  checkpoint_file.py  a conversation as a checkpoint file
conversations.py    the list of turns
  turn_list_query.py  which turns it shows
turn_page.py        the page of one turn; turn_actions.py: what people do there
  turn_story.py       a trace as a story; waterfall.py: the times of its calls
  word_diff.py        a draft against what was delivered, word by word
emergencies.py      the inbox of emergencies
  alarm_cards.py      what it says of each, in plain words
judges.py           how good judges are
  evaluations.py      evaluations of them, read and started
experiments.py      runs with the filter on and off
  runs.py             their folders, read
knowledge.py        sections of knowledge bases
  section_table.py    with how often they were used, filtered and sorted
  pair_table.py       question-answer pairs with their reviews, counted and filtered
operation.py        what happened over time
  activity.py         as plots with tables; process_figures.py: how the proxy itself is

Several screens read traces (trace_reading.py) of a time (period.py) as their address says it (list_query.py), and draw lines and
bars (plot.py).
"""
