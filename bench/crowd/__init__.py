"""A crowd before several workers, `python -m bench.crowd`: does anybody get what is somebody else's, does memory stay flat?

__main__.py   the options, and a run in its order
plot.py       what the conversations say: drafts that are fine, that drift, an emergency; and twins (pure)
guest.py      one conversation, as a client has it, and what it makes of each reply
upstream.py   the model behind the proxy: says in each reply what it was shown (a process of its own)
scene.py      keys, configuration, Redis and `caf serve --workers`
books.py      what the proxy's own books (metrics, traces, budgets) say of the run
bars.py       the figures, and what they must reach (pure)
"""
