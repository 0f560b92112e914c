// Makes the calls of calls.py with the openai SDK for Node, one after the other, and prints what it saw.
//
// Standard input: {url, key, calls: {name: {to, steps, helper, wrong_key, retries}}}. Standard output: {name: what it saw}.
import { text } from 'node:stream/consumers';
import OpenAI from 'openai';

const { url, key, calls } = JSON.parse(await text(process.stdin));

const seen = {};
for (const [name, call] of Object.entries(calls)) {
  const client = new OpenAI({ baseURL: url, apiKey: call.wrong_key ? 'wrong' : key, maxRetries: call.retries });
  try {
    let reply = {};
    for (const step of call.steps) reply = await make(client, call, filled(step, gave(reply)));
    seen[name] = reply;
  } catch (error) {
    if (!(error instanceof OpenAI.APIError)) throw error;
    const { status, code, type, param } = error;
    const wait = Number(error.headers?.get('retry-after') ?? 0);
    seen[name] = { error: error.constructor.name, http_status: status ?? null, code, type, param, retry_after: wait };
  }
}
console.log(JSON.stringify(seen));

async function make(client, { to, helper }, body) {
  switch (to) {
    case 'chat':
      if (helper) return client.chat.completions.stream(body).finalChatCompletion();
      return whole(await client.chat.completions.create(body), body);
    case 'responses':
      if (helper) return client.responses.stream(body).finalResponse();
      return whole(await client.responses.create(body), body);
    case 'models.list':
      return whole(await client.models.list(), { stream: true });
    case 'models.retrieve':
      return client.models.retrieve(body.model);
    case 'embeddings':
      return client.embeddings.create(body);
  }
  throw new Error(`no such call: ${to}`);
}

async function whole(reply, { stream }) {
  if (!stream) return reply;
  const parts = [];
  for await (const part of reply) parts.push(part);
  return parts;
}

function gave({ id, choices, output }) {
  const message = choices?.[0].message;
  const callId = message?.tool_calls?.[0].id ?? output?.find((item) => item.call_id)?.call_id;
  return { $id: id, $message: message, $call_id: callId };
}

function filled(value, given) {
  if (Array.isArray(value)) return value.map((inner) => filled(inner, given));
  if (value !== null && typeof value === 'object')
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, filled(inner, given)]));
  return given[value] ?? value;
}
