// The playground. A conversation is a list of turns: a user's message, and a reply for each side (a chatbot with the filter on, off ...).
// The server keeps a state for each side. It finds the state by the messages, so editing and branching work, and by the field `user`,
// which differs by side. All texts are text nodes and never markup.

import { loadFragment } from "./console.js";
import { HOME, Problem, adviceFor, csrfHeader, eventsOf, post } from "./playground_requests.js";

const NAMES = { on: "Filter on", off: "Filter off", shadow: "Filter in shadow mode" };
const LONG = 8000; // characters
const find = (selector, root = document) => root.querySelector(selector);
const copy = (id) => find(`template#${id}`).content.firstElementChild.cloneNode(true);

// Bidirectional control characters, shown by their names as on every page (render.py).
const showDirections = (text) =>
  text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (one) => `\u27e6U+${one.charCodeAt(0).toString(16).toUpperCase()}\u27e7`);

const chatbot = find("#chatbot");
const message = find("#message");
const list = find("#turns");
const modeButtons = [...document.querySelectorAll("[data-mode]")];

let modes = [];          // of the current sides: one, or ["on", "off"]
let conversation = null;
let running = new Set(); // replies that are being written

// ---- Chatbots and sides

const option = (name) => [...chatbot.options].find((one) => one.value === name);
const configured = (name) => option(name).dataset.filter;
const label = (name, mode) => option(name).dataset.kind === "passthrough" ? "Passthrough" : NAMES[mode];

function chooseMode(choice) {
  modes = choice === "both" ? ["on", "off"] : [choice];
  for (const one of modeButtons) one.setAttribute("aria-pressed", String(one.dataset.mode === choice));
  const badge = find("#configured");
  if (badge) badge.textContent = NAMES[choice];
}

// The choice of two sides is kept for other conversations. One side is kept only for the same chatbot, because its filter setting differs.
function describeChatbot(same = false) {
  const name = chatbot.value;
  const forwards = option(name).dataset.kind === "passthrough";
  for (const one of modeButtons) one.disabled = forwards;
  if (forwards || !(same ? modes.length : modes.length > 1)) chooseMode(configured(name));
  find(".starters").replaceChildren(find(`template[data-starters="${CSS.escape(name)}"]`).content.cloneNode(true));
}

// ---- Conversations

function newConversation() {
  const id = crypto.randomUUID?.() ?? String(Math.random()).slice(2);
  return { id, chatbot: chatbot.value, turns: [] };
}

const userOf = (conversation, mode) => `playground-${conversation.id}-${mode}`;

function showConversation() {
  list.replaceChildren(...conversation.turns.map((turn) => turn.element));
  markTurns();
}

function markTurns() {
  const { turns } = conversation;
  find("#start").hidden = turns.length > 0;
  find("#save").disabled = turns.length === 0;
  turns.forEach(({ element }, index) => {
    const last = index === turns.length - 1;
    const edit = find(".edit", element);
    if (last) edit.dataset.key = "e"; else delete edit.dataset.key;
    find(".same", element).hidden = find(".same select", element).options.length === 0;
    for (const one of element.querySelectorAll("details.judges > summary")) {
      if (last) one.dataset.key = "d"; else delete one.dataset.key;
    }
  });
}

// Keeps the turns that a new conversation or an edit removes, until the next message.
function offerUndo(text) {
  const before = { conversation, turns: [...conversation.turns], chatbot: conversation.chatbot, modes };
  if (!before.turns.length) return;
  const box = find("#undo");
  find("span", box).textContent = text;
  box.hidden = false;
  find("button", box).onclick = () => {
    box.hidden = true;
    stop();
    conversation = before.conversation;
    conversation.turns = before.turns;
    chatbot.value = before.chatbot;
    modes = [];
    describeChatbot();
    chooseMode(before.modes.length > 1 ? "both" : before.modes[0]);
    showConversation();
    message.focus();
  };
}

function begin(text) {
  stop();
  offerUndo(text);
  const same = chatbot.value === conversation.chatbot;
  conversation = newConversation();
  describeChatbot(same);
  showConversation();
  message.focus();
}

function messagesBefore(turn, mode) {
  const said = [];
  for (const one of conversation.turns) {
    said.push({ role: "user", content: one.text });
    if (one === turn) break;
    // A side that joins later continues from the replies of the other one.
    const reply = one.replies[mode] ?? Object.values(one.replies)[0];
    if (reply?.finished && reply.text) said.push({ role: "assistant", content: reply.text });
  }
  return said;
}

// ---- Sending

function send(text) {
  if (running.size || !text.trim()) return;
  find("#undo").hidden = true;
  const turn = { text, replies: {}, element: copy("turn") };
  find(".said .text", turn.element).textContent = showDirections(text);
  find(".edit", turn.element).onclick = () => edit(turn);
  fillTargets(turn);
  conversation.turns.push(turn);
  list.append(turn.element);
  markTurns();
  for (const mode of modes) {
    const reply = addReply(turn, conversation.chatbot, mode);
    turn.replies[mode] = reply;
    ask(reply);
  }
  turn.element.scrollIntoView({ block: "nearest" });
}

function addReply(turn, name, mode, aside = false) {
  const element = copy("reply");
  const user = aside ? `playground-${crypto.randomUUID?.() ?? Date.now()}` : userOf(conversation, mode);
  find(".whose", element).textContent = name;
  const badge = find(".badge", element);
  badge.textContent = label(name, mode);
  if (mode === "on") badge.classList.add("o-accepted");
  find(".replies", turn.element).append(element);
  const messages = messagesBefore(turn, mode);
  const reply = { element, chatbot: name, mode, user, messages, text: "", aside };
  find(".retry", element).onclick = () => { ask(reply); message.focus(); };
  return reply;
}

async function ask(reply) {
  const { element } = reply;
  Object.assign(reply, { text: "", shown: 0, refusal: "", finished: false, caf: null, turn: null, controller: new AbortController() });
  const body = find(":scope > .text", element);
  body.replaceChildren(reply.written = document.createTextNode(""));
  find(".facts", element).replaceChildren();
  find(".fault", element).hidden = true;
  const waiting = find(".waiting", element);
  waiting.hidden = false;
  const clock = countSeconds(find(".seconds", waiting));
  running.add(reply);
  showRunning();
  try {
    for await (const chunk of chunksOf(reply)) {
      take(reply, chunk);
      reply.frame ??= requestAnimationFrame(() => write(reply));
    }
    if (!reply.finished) throw new Problem("connection", "The reply ended before it was complete.");
    reply.text ||= reply.refusal;
  } catch (error) {
    showProblem(reply, error);
  }
  write(reply);
  clearInterval(clock);
  waiting.hidden = true;
  running.delete(reply);
  showRunning();
  if (reply.finished) {
    fold(body, reply.text);
    announce(reply);
    await showFacts(reply);
  }
}

// A very long reply gets its own scroll bar, so that its outcome stays near.
function fold(body, text) {
  if (text.length <= LONG) return;
  body.classList.add("clip");
  body.tabIndex = 0;
  body.setAttribute("role", "region");
  body.setAttribute("aria-label", "Reply");
}

// Shows the received text at most once per frame, because the layout of a long reply is slow.
function write(reply) {
  cancelAnimationFrame(reply.frame);
  reply.frame = null;
  const atEnd = nearEnd();
  reply.written.appendData(showDirections(reply.text.slice(reply.shown)));
  reply.shown = reply.text.length;
  if (atEnd) scrollTo(0, document.documentElement.scrollHeight);
}

function take(reply, chunk) {
  if (chunk.error) throw new Problem(chunk.error.code, chunk.error.message);
  const id = /^chatcmpl-([0-9a-f]{32})$/.exec(chunk.id ?? "");
  if (id) reply.turn = id[1];
  const choice = chunk.choices?.find((one) => !one.index);
  const said = choice?.delta ?? choice?.message ?? {};
  if (said.content) reply.text += said.content;
  if (said.refusal && said.refusal !== reply.text) reply.refusal += said.refusal;
  for (const call of said.tool_calls ?? []) {
    reply.text += [call.function?.name && `[Tool call ${call.function.name}] `, call.function?.arguments].filter(Boolean).join("");
  }
  if (choice?.finish_reason) reply.finished = true;
  if (chunk.caf ?? choice?.caf) reply.caf = chunk.caf ?? choice.caf;
}

async function* chunksOf(reply) {
  const headers = { "Content-Type": "application/json", Accept: "text/event-stream, application/json" };
  // Only if it differs from the chatbot's setting, because changing it needs a permission.
  if (reply.mode !== configured(reply.chatbot)) headers["X-CAF-Filter"] = reply.mode;
  const response = await post("/chat", headers, {
    model: reply.chatbot, messages: reply.messages, stream: true, user: reply.user,
  }, reply.controller.signal);
  if (!response.headers.get("Content-Type")?.startsWith("text/event-stream")) {
    yield await response.json();
    return;
  }
  for await (const data of eventsOf(response.body)) {
    if (data === "[DONE]") return;
    yield JSON.parse(data);
  }
}

function stop() {
  for (const reply of running) reply.controller.abort();
}

function showRunning() {
  find("#send").hidden = running.size > 0;
  find("#stop").hidden = running.size === 0;
}

function countSeconds(element) {
  const started = Date.now();
  element.textContent = "";
  return setInterval(() => { element.textContent = `${Math.round((Date.now() - started) / 1000)} s`; }, 1000);
}

const nearEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 80;

function announce(reply) {
  const title = reply.caf && find(`template[data-outcome="${reply.caf.outcome}"]`)?.content.querySelector(".badge").textContent;
  find("#said").textContent = `${reply.chatbot}, ${label(reply.chatbot, reply.mode)}: ${title ?? "Reply"}. ${reply.text.slice(0, 1500)}`;
}

// ---- Outcome of a reply

async function showFacts(reply) {
  const facts = find(".facts", reply.element);
  const known = reply.caf && find(`template[data-outcome="${reply.caf.outcome}"]`);
  if (known) facts.replaceChildren(known.content.cloneNode(true));
  if (!reply.turn || option(reply.chatbot).dataset.kind === "passthrough") {
    if (!known) facts.replaceChildren(find("template#no-facts").content.cloneNode(true));
    return;
  }
  const atEnd = nearEnd();
  delete facts.dataset.loaded; // of an earlier attempt
  await loadFragment(facts, `${HOME}/turns/${reply.turn}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...csrfHeader() },
    body: JSON.stringify({ chatbot: reply.chatbot, text: reply.text, caf: reply.caf }),
  }, () => facts.append("Your session has ended. Sign in again to see the details of this reply."));
  markTurns();
  if (atEnd) scrollTo(0, document.documentElement.scrollHeight);
}

list.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-source]");
  if (!button) return;
  const dialog = find("#source");
  const inside = find(".source", dialog);
  inside.textContent = "Loading…";
  delete inside.dataset.loaded; // another source
  dialog.showModal();
  await loadFragment(inside, button.dataset.source, {}, () => { inside.textContent = "Your session has ended. Sign in again in another tab."; });
  const mark = find(".text mark", inside);
  if (mark) mark.scrollIntoView({ block: "center" }); else dialog.scrollTop = 0;
});

// ---- Errors

function showProblem(reply, error) {
  const box = find(".fault", reply.element);
  const retry = find(".retry", box);
  const stopped = error.name === "AbortError";
  const problem = error instanceof Problem ? error : new Problem("connection", "");
  const [title, advice] = stopped ? ["Stopped", "This reply is not part of the conversation."] : adviceFor(problem);
  reply.finished = false;
  find(".title", box).textContent = title;
  find(".advice", box).textContent = [stopped ? "" : problem.message.replace(/([^.!?])$/, "$1."), advice].filter(Boolean).join(" ");
  find("a", box).hidden = problem.status !== 401;
  box.classList.toggle("stopped", stopped);
  box.hidden = false;
  retry.dataset.key = "r";
  holdBack(retry, stopped ? 0 : Math.min(problem.wait, 120));
}

function holdBack(button, seconds) {
  button.disabled = seconds > 0;
  button.textContent = seconds > 0 ? `Try again in ${seconds} s` : "Try again";
  if (seconds > 0) setTimeout(() => holdBack(button, seconds - 1), 1000);
}

// ---- Editing, and other chatbots

function edit(turn) {
  if (find(".editing", turn.element)) return;
  const said = find(".said", turn.element);
  const form = copy("edit");
  const field = find("textarea", form);
  const close = () => { form.remove(); said.hidden = false; };
  field.value = turn.text;
  find("[value=cancel]", form).onclick = () => { close(); find(".edit", said).focus(); };
  field.onkeydown = (event) => {
    if (sends(event)) form.requestSubmit();
    if (event.key === "Escape") { event.stopPropagation(); close(); find(".edit", said).focus(); }
  };
  form.onsubmit = (event) => {
    event.preventDefault();
    if (!field.value.trim()) return;
    stop();
    close();
    offerUndo("The later messages were removed.");
    const undo = find("#undo");
    conversation.turns = conversation.turns.slice(0, conversation.turns.indexOf(turn));
    showConversation();
    whenIdle(() => { send(field.value); undo.hidden = false; message.focus(); });
  };
  said.hidden = true;
  said.after(form);
  field.focus();
  fit(field);
}

// Stopped replies end a moment later.
function whenIdle(action) {
  if (running.size) setTimeout(whenIdle, 20, action); else action();
}

function fillTargets(turn) {
  const select = find(".same select", turn.element);
  for (const { value, dataset } of chatbot.options) {
    const own = value === conversation.chatbot;
    const offered = modeButtons.length && dataset.kind !== "passthrough" ? ["on", "off"] : [dataset.filter];
    for (const mode of offered) {
      if (own && modes.includes(mode)) continue;
      select.add(new Option(`${value} (${label(value, mode).toLowerCase()})`, JSON.stringify([value, mode])));
    }
  }
  find(".same", turn.element).onsubmit = (event) => {
    event.preventDefault();
    const [name, mode] = JSON.parse(select.value);
    const reply = addReply(turn, name, mode, true);
    reply.element.scrollIntoView({ block: "nearest" });
    ask(reply);
  };
}

// ---- Saving

function openCheckpoint() {
  const dialog = find("#checkpoint");
  const { elements } = find("#checkpoint-form");
  const sides = [...new Set(conversation.turns.flatMap((turn) => Object.keys(turn.replies)))];
  elements.side.replaceChildren(...sides.map((mode) => new Option(label(conversation.chatbot, mode), mode)));
  find("[data-sides]", dialog).hidden = sides.length < 2;
  const today = new Date().toISOString().slice(0, 16).replace(/[T:]/g, "-");
  elements.name.value = `${conversation.chatbot.replace(/[^A-Za-z0-9._-]/g, "-")}-${today}`;
  find(".problem", dialog).hidden = true;
  dialog.showModal();
  elements.name.select();
}

function said(mode) {
  const messages = [];
  for (const turn of conversation.turns) {
    messages.push({ role: "user", content: turn.text });
    const reply = turn.replies[mode] ?? Object.values(turn.replies)[0];
    if (!reply?.finished || !reply.text) continue;
    const { outcome = null, citations = [] } = reply.caf ?? {};
    messages.push({ role: "assistant", content: reply.text, outcome, citations: citations.map((one) => one.id) });
  }
  return messages;
}

async function saveCheckpoint(event) {
  event.preventDefault();
  const dialog = find("#checkpoint");
  const { name, note, side } = event.target.elements;
  const data = { name: name.value, chatbot: conversation.chatbot, note: note.value.trim(), messages: said(side.value) };
  try {
    const response = await post("/checkpoint", { "Content-Type": "application/json", Accept: "application/yaml, application/json" }, data);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await response.blob());
    link.download = `${name.value}.yaml`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    dialog.close();
  } catch (error) {
    const problem = error instanceof Problem ? error : new Problem("connection", "");
    find(".problem", dialog).textContent = [problem.message, ...adviceFor(problem)].filter(Boolean).join(" ");
    find(".problem", dialog).hidden = false;
  }
}

// ---- The composer

const sends = (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing;

function fit(field) {
  field.rows = Math.min(10, Math.max(2, field.value.split("\n").length));
}

if (chatbot) {
  describeChatbot();
  conversation = newConversation();
  find("#composer").onsubmit = (event) => {
    event.preventDefault();
    const text = message.value;
    if (running.size || !text.trim()) return;
    message.value = "";
    fit(message);
    send(text);
  };
  message.onkeydown = (event) => {
    if (sends(event)) { event.preventDefault(); find("#composer").requestSubmit(); }
    if (event.key === "Escape" && running.size) { event.stopPropagation(); stop(); }
  };
  message.oninput = () => fit(message);
  find("#stop").onclick = () => { stop(); message.focus(); };
  find("#new").onclick = () => begin("Started a new conversation.");
  find("#save").onclick = openCheckpoint;
  chatbot.onchange = () => begin(`Started a new conversation with ${chatbot.value}.`);
  for (const one of modeButtons) one.onclick = () => chooseMode(one.dataset.mode);
  find(".starters").onclick = (event) => {
    if (event.target.closest("button")) { message.value = event.target.textContent; message.focus(); }
  };
  find("#checkpoint-form").onsubmit = saveCheckpoint;
  find("#checkpoint-form [value=cancel]").onclick = () => find("#checkpoint").close();
}
