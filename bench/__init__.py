"""What the proxy itself costs, measured on this machine in one run: `python -m bench`.

__main__.py   the options, and the parts of a run in their order
requests.py   requests a second, latency and CPU: direct, bare pass-through, and three chatbots of a real `caf serve`
streams.py    64 streams at once
judges.py     CPU of the local judges alone (a process of its own)
path.py       the time of a turn whose judges are models: its slowest path, not the sum
start.py      start-up, memory, and what is imported
figures.py    the figures of a run, the targets, the tables
script.py     the conversations that are played, made from the knowledge base
load.py       the load: a closed loop over keep-alive connections
upstream.py   the model behind everything: a 0 ms mock (a process of its own)
bare.py       the reference: the least that an aiohttp pass-through can do (a process of its own)
setting.py    what a run works with: configuration, conversations, servers
processes.py  starts servers and pins them, and reads their CPU and memory

And by themselves:

modes.py       what a reader of a stream waits for in each streaming mode
attacks/       what attacks cost, and whom they keep waiting
crowd.py       many guests at once, with nobody mixed up; guests.py: what each says and hears
proportion.py  how the calls that judges share rule on labelled replies, beside the scores that these were given
evidence.py    which sections come into the judges' view
local_claims.py  the local judge of claims beside a plain rule
console.py     what an open console costs the turns; console_lists.py: how fast its lists are with 100,000 turns
rater.py       how well the rater without a model agrees with labelled replies
"""
