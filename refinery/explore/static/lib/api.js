// Requests to the server. A refusal becomes an Error with the server's message.

let token = "";

export function useToken(text) {
  token = text;
}

// The answer of `/api/<path>`. values: the query string; undefined and null are left out, lists become JSON.
export async function get(path, values = {}, signal = undefined) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null) query.set(name, typeof value === "object" ? JSON.stringify(value) : String(value));
  }
  const text = query.toString();
  return answer(await reached(() => fetch(`/api/${path}${text ? `?${text}` : ""}`, { signal })));
}

// Send a JSON object to `/api/<path>`.
export async function post(path, body) {
  const headers = { "content-type": "application/json", "x-refinery-token": token };
  return answer(await reached(() => fetch(`/api/${path}`, { method: "POST", headers, body: JSON.stringify(body) })));
}

async function reached(request) {
  try {
    return await request();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("refinery explore does not answer: is it still running?");
  }
}

async function answer(response) {
  const type = response.headers.get("content-type") || "";
  if (!type.startsWith("application/json")) throw new Error((await response.text()).trim() || `HTTP ${response.status}`);
  const value = await response.json();
  if (!response.ok) throw new Error(value.error || `HTTP ${response.status}`);
  return value;
}
