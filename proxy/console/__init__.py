"""/console: web pages for operators. Jinja renders them on the server. A few lines of JavaScript stream replies, handle the
keyboard and load fragments. The templates are loaded at the first visit.

routes.py           the routes of the pages with their permissions; style sheets and scripts
admission.py        admits a request: address, origin, session, CSRF token, permissions; errors as pages
session_store.py    sessions, in this process or in Redis
form.py             reads forms, within limits
sign_in.py          sign in with a key, and sign out
console_request.py  an admitted request, with the client's permissions
render.py           templates, and the headers of every answer
words.py            words for the identifiers of traces
saved_files.py      reads the JSON files of experiments and evaluations, which may be damaged
journal.py          records reading, labelling and deleting in the audit log or the log

The screens, each a module and a folder of templates, with helper modules that have no handlers:

playground.py       chat in the browser
  reply_facts.py      the facts of one reply, from its `caf` object and its trace
  quote_marks.py      marks the quotes of judges in their source text
  checkpoint_file.py  a conversation as a checkpoint file
conversations.py    the list of turns
  turn_list_query.py  its filter
turn_page.py        the page of one turn; turn_actions.py: its actions
  turn_story.py       a trace as a story; waterfall.py: the times of its calls
  word_diff.py        compares draft and delivered reply word by word
emergencies.py      the inbox of emergencies
  alarm_cards.py      the description of an alarm
judges.py           the accuracy of judges
  evaluations.py      reads and starts evaluations
experiments.py      runs with the filter on and off
  runs.py             reads their folders
knowledge.py        sections of knowledge bases
  section_table.py    their use, filtered and sorted
  pair_table.py       question-answer pairs and their reviews
operation.py        traffic and status of the proxy
  activity.py         plots and tables; process_figures.py: the proxy's own metrics

Several screens read traces (trace_reading.py) of a period (period.py), filtered by the address (list_query.py), and draw plots
(plot.py).
"""
