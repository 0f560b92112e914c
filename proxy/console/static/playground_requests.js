// The playground's requests to the proxy: CSRF token, streams, and advice for errors.

import { csrf } from "./console.js";

export const HOME = "/console/playground";

let token = csrf();
export const csrfHeader = () => ({ "X-CSRF-Token": token });

// Sends the session's CSRF token. The token of this page is outdated if another tab, or a restart of the proxy, began a new
// session.
export async function post(path, headers, data, signal) {
  const options = () => ({ method: "POST", headers: { ...headers, ...csrfHeader() }, body: JSON.stringify(data), signal });
  let response = await fetch(HOME + path, options());
  if (response.status === 403 && await refreshToken()) response = await fetch(HOME + path, options());
  if (!response.ok) throw await problemOf(response);
  return response;
}

async function refreshToken() {
  const response = await fetch(HOME, { headers: { Accept: "text/html" } });
  if (response.redirected || !response.ok) return false;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const fresh = page.querySelector("meta[name=csrf]")?.content;
  const changed = Boolean(fresh) && fresh !== token;
  if (changed) token = fresh;
  return changed;
}

// Server-sent events. Lines that begin with a colon are keep-alive comments.
export async function* eventsOf(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split(/\r?\n\r?\n/);
    rest = events.pop();
    for (const event of events) {
      const lines = event.split(/\r?\n/).filter((line) => line.startsWith("data:"));
      if (lines.length) yield lines.map((line) => line.slice(5).trim()).join("\n");
    }
  }
}

export class Problem extends Error {
  constructor(code, message, status = 0, wait = 0) {
    super(message);
    Object.assign(this, { code, status, wait });
  }
}

async function problemOf(response) {
  const wait = Number(response.headers.get("Retry-After")) || 0;
  const { error = {} } = await response.json().catch(() => ({}));
  return new Problem(error.code, error.message ?? "", response.status, wait);
}

export function adviceFor({ code, status, wait }) {
  if (status === 401) return ["Your session has ended", "Sign in again in a new tab, then try again here. Your message is kept."];
  if (code === "insufficient_quota") return ["Your key's budget for today is spent", "Try again tomorrow, or ask the operator for a larger budget."];
  if (status === 429) return ["Too many requests", wait ? `Try again in ${wait} s.` : "Try again in a moment."];
  if (status === 403) return ["Not allowed", "Your key lacks the permission for this action."];
  if (code === "model_not_found") return ["This chatbot no longer exists", "Reload the page to list the current chatbots."];
  if (status === 413) return ["Message too long", "Shorten the message, or start a new conversation."];
  if (status === 504 || code === "turn_timeout" || code === "upstream_timeout") return ["Timeout", "The chatbot's model did not answer in time. Try again. If it fails repeatedly, tell the operator."];
  if (status === 502 || code?.startsWith("upstream")) return ["The chatbot's model failed", "Try again. If it fails repeatedly, tell the operator. The proxy's log names the cause."];
  if (status === 503) return ["The proxy is busy", "Try again in a moment."];
  if (code === "connection") return ["The connection was lost", "The proxy may be restarting. Your message is kept. Try again."];
  if (status === 400) return ["The proxy refused this request", "Change the message, or start a new conversation."];
  return ["Request failed", "Try again. If it fails repeatedly, tell the operator. The proxy's log has the details."];
}
