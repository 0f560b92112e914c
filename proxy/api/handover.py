"""Keeps the state of a running proxy when it reloads its configuration: conversations, limits, stored responses."""

from proxy.api.responses.store import ProcessResponses
from proxy.api.service import Service
from proxy.auth.limits import ProcessMeter
from proxy.state.conversation_store import LocalConversations


def hand_over(old: Service, new: Service) -> None:
    """Give the in-process state of an old service to a new service: conversations, limits, stored responses.

    Both services then share this state, so the new service finds the state of turns that finish in the old one. State that is
    stored outside the process needs no handover.
    """
    settings = new.config.memory
    if isinstance(old.conversations, LocalConversations) and isinstance(new.conversations, LocalConversations):
        old.conversations.limit(settings.max_turns, settings.max_age_s)
        new.conversations = old.conversations
    old.throttle.per_minute = new.throttle.per_minute
    new.throttle = old.throttle
    if isinstance(old.meter, ProcessMeter) and isinstance(new.meter, ProcessMeter):
        new.meter = old.meter
    if isinstance(old.responses, ProcessResponses) and isinstance(new.responses, ProcessResponses):
        old.responses.limit(settings.max_turns, settings.max_age_s)
        new.responses = old.responses
