"""/console: what happens in turns, for people who would rather look than read a terminal. Rendered here, by Jinja; a few lines of
JavaScript stream, move by keyboard, and load fragments. Nothing of it is imported before somebody opens the console.

routes.py          its pages as a list, each with the permissions it takes
visit.py           one request to it: who looks, and what they may see
admission.py       lets a request in: addresses, origin, session, CSRF token, permissions; errors as pages
session_store.py   who is signed in: in this process, or in Redis
form.py            reads forms, within limits
sign_in.py         signing in with a key, and out
render.py          templates, and the headers of every answer
journal.py         who looked at whose texts, labelled, deleted: to the audit log, or to the log
assets.py          style sheets and scripts
words.py           what traces name by identifiers, in words
trace_reading.py   reads traces for a screen, or says why there are none

plot.py            lines and bars as SVG
evaluations.py     evaluations of judges, read and started; runs.py: experiments, read

trace_reading.py   reads traces for a screen; period.py: the time it looks at

Its screens, a module and a folder of templates each: playground, conversations, emergencies, judges, experiments, knowledge,
operation. The page of one turn stands beside its list: turn_page.py, and turn_actions.py for what people do there. What screens
make of turns, without any handler:

turn_query.py      which turns a list shows, by its address
turn_story.py      a trace as a story; waterfall.py: the times of its calls
reply_facts.py     what became of one reply, from its `caf` object and its trace
word_diff.py       a draft against what was delivered, word by word
quote_marks.py     judges' quotes, marked in the section that they are from
checkpoint_file.py a conversation as a checkpoint file
alarm_cards.py     what the inbox of emergencies says of each, in plain words
section_table.py   sections of a knowledge base with how often they were used
activity.py        what happened over time, as plots with tables; process_figures.py: how the proxy itself is
"""
