"""The application on an address: for `caf serve`, and for commands and experiments that run a proxy of their own.

In reading order:

    listening.py        an application on an address, until the block is left
    front.py            listens while the application behind it is exchanged
    connections.py      how many clients may connect, and how long they may take
    reload.py           the configuration read again on SIGHUP
    workers.py          several processes that share the port
    unsafe_settings.py  settings that weaken protection
"""
