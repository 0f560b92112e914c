"""Clients that retrieve by themselves: what their own documents and tools say supports a reply, and nothing else does."""

from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import openai
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import ChatOpenAI
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.llms import ChatMessage
from llama_index.core.schema import TextNode
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike

from proxy.app import create_app
from proxy.auth.keys import create, save
from proxy.config.config import parse_config
from tests.clients.conftest import Place, Thread, serve
from tests.proxy.conftest import bot_settings, write_sections
from tests.proxy.openai_upstream import ASKED, SAYS, server

Body = dict[str, Any]
WEATHER = "In Paris it is 18 degrees. The wind is weak."
TITLE = "Weather in Paris"
FAITHFUL, INVENTED = "How warm is it in Paris?", "How warm is it in Paris, do you think?"
ANSWERS = {
    FAITHFUL: "[[cite: doc:1]]\nIn Paris it is 18 degrees.",
    INVENTED: "[[cite: doc:1]]\nIn Paris it is 27 degrees.",
}
"""What the model says to either question, whatever it has been given."""
BOT = bot_settings(evidence=["knowledge_base", "documents", "tools"], trusted_tools=["get_weather"], model="bot")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A proxy whose chatbots take evidence, and a key that may bring some."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLIENTS_TEST_KEY", "sk-of-the-proxy")
        with Thread() as thread:
            yield thread.run(_open(tmp_path_factory.mktemp("evidence"), thread.stack))


async def _open(folder: Path, stack: AsyncExitStack) -> Place:
    write_sections(folder / "kb")
    model = server(commands=True)
    model[SAYS].update(ANSWERS)
    key = create("ada", ["chat", "evidence"])
    save([key.record], folder / "keys.json")
    alias = {"engine": "openai", "base_url": await serve(model, stack), "api_key_env": "CLIENTS_TEST_KEY"}
    config = {
        "models": {"bot": alias | {"model": "bot"}},
        "chatbots": {"bot": BOT},
        "keys": {"file": "keys.json"},
        "privacy": {"store": "none"},
    }
    url = await serve(create_app(parse_config(config, folder / "config.yaml")), stack)
    return Place(url, key.text, model[ASKED])


def get_weather(city: str) -> str:
    """Tell the weather.

    Args:
        city: Where.
    """
    return WEATHER


def ask_with_openai(place: Place, question: str, way: str, streamed: bool) -> str:
    client = openai.OpenAI(base_url=place.url, api_key=place.key, max_retries=0)
    messages: list[Any] = [{"role": "user", "content": question}]
    more: Body = {"extra_body": {"documents": [{"id": "w1", "title": TITLE, "text": WEATHER}]}}
    if way == "tools":
        more = {"tools": [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object"}}}]}
        called = client.chat.completions.create(model="bot", messages=messages, **more).choices[0].message
        messages += [
            called.model_dump(exclude_none=True),
            *(
                {"role": "tool", "tool_call_id": call.id, "content": get_weather("Paris")}
                for call in called.tool_calls or ()
            ),
        ]
    if not streamed:
        return client.chat.completions.create(model="bot", messages=messages, **more).choices[0].message.content or ""
    chunks = client.chat.completions.create(model="bot", messages=messages, stream=True, **more)
    return "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)


def ask_with_langchain(place: Place, question: str, way: str, streamed: bool) -> str:
    model: Any = ChatOpenAI(model="bot", base_url=place.url, api_key=place.key, max_retries=0)  # type: ignore[arg-type]
    messages: list[Any] = [HumanMessage(question)]
    more: Body = {}
    if way == "documents":
        store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
        store.add_documents([Document(WEATHER, metadata={"title": TITLE})])
        retrieved = store.as_retriever().invoke(question)
        documents = [{"title": one.metadata["title"], "text": one.page_content} for one in retrieved]
        more = {"extra_body": {"documents": documents}}
    else:
        weather = tool(get_weather)
        model = model.bind_tools([weather])
        called = model.invoke(messages)
        messages += [called, *(weather.invoke(call) for call in called.tool_calls)]
    if not streamed:
        return str(model.invoke(messages, **more).text)
    return "".join(chunk.text for chunk in model.stream(messages, **more))


def ask_with_llamaindex(place: Place, question: str, way: str, streamed: bool) -> str:
    model = OpenAILike(
        model="bot", api_base=place.url, api_key=place.key, max_retries=0, is_chat_model=True, is_function_calling_model=True
    )  # fmt: skip
    messages = [ChatMessage(role="user", content=question)]
    more: Body = {}
    if way == "documents":
        nodes = [TextNode(text=WEATHER, metadata={"title": TITLE})]
        retriever = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=8)).as_retriever()
        retrieved = [found.node for found in retriever.retrieve(question)]
        documents = [{"title": node.metadata["title"], "text": node.get_content()} for node in retrieved]
        more = {"extra_body": {"documents": documents}}
    else:
        weather = FunctionTool.from_defaults(get_weather)
        called = model.chat_with_tools([weather], chat_history=messages)
        messages.append(called.message)
        for call in model.get_tool_calls_from_response(called):
            said = str(weather.call(**call.tool_kwargs))
            messages.append(ChatMessage(role="tool", content=said, additional_kwargs={"tool_call_id": call.tool_id}))
    if not streamed:
        return str(model.chat(messages, **more).message.content)
    return "".join(chunk.delta or "" for chunk in model.stream_chat(messages, **more))


CLIENTS: dict[str, Callable[..., str]] = {
    "openai": ask_with_openai,
    "langchain": ask_with_langchain,
    "llamaindex": ask_with_llamaindex,
}


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("way", ["documents", "tools"])
@pytest.mark.parametrize("client", CLIENTS)
def test_a_faithful_answer_arrives_unchanged_and_an_invented_figure_does_not(
    place: Place, client: str, way: str, streamed: bool
) -> None:
    """The document names the figure that the reply must have, and stands under it as its source."""
    ask = CLIENTS[client]
    source = TITLE if way == "documents" else "get_weather"
    assert ask(place, FAITHFUL, way, streamed) == f"In Paris it is 18 degrees.\n\nSources: {source}"
    invented = ask(place, INVENTED, way, streamed)
    assert invented
    assert "27" not in invented
