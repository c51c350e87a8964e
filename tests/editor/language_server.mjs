// Asks the language server of editors about a file with rules. Arguments: the schema, and the file. Prints its diagnostics and its
// completions at the place of `|` in the file as JSON.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [schemaPath, filePath] = process.argv.slice(2);
const marked = readFileSync(filePath, "utf8");
const offset = marked.indexOf("|");
const before = marked.slice(0, offset).split("\n");
const position = { line: before.length - 1, character: before.at(-1).length };
const text = marked.slice(0, offset) + marked.slice(offset + 1);
const uri = pathToFileURL(filePath).href;

const program = createRequire(import.meta.url).resolve("yaml-language-server/bin/yaml-language-server");
const server = spawn(process.execPath, [program, "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map();
let number = 0;
let diagnosed;
const diagnostics = new Promise((resolve) => (diagnosed = resolve));

function send(message) {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  server.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

function request(method, params) {
  const id = ++number;
  send({ id, method, params });
  return new Promise((resolve) => waiting.set(id, resolve));
}

const settings = {
  yaml: { validate: true, completion: true, schemas: { [pathToFileURL(schemaPath).href]: [uri] }, schemaStore: { enable: false } },
};

function receive(message) {
  if (message.method === "workspace/configuration") {
    const result = message.params.items.map((item) => settings[item.section] ?? {});
    send({ id: message.id, result });
  } else if (message.id !== undefined && message.method) {
    send({ id: message.id, result: null });
  } else if (message.method === "textDocument/publishDiagnostics" && message.params.uri === uri) {
    diagnosed(message.params.diagnostics);
  } else if (waiting.has(message.id)) {
    waiting.get(message.id)(message.result);
  }
}

let rest = Buffer.alloc(0);
server.stdout.on("data", (data) => {
  rest = Buffer.concat([rest, data]);
  for (;;) {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) return;
    const length = Number(/Content-Length: (\d+)/i.exec(rest.subarray(0, end).toString())[1]);
    if (rest.length < end + 4 + length) return;
    receive(JSON.parse(rest.subarray(end + 4, end + 4 + length).toString()));
    rest = rest.subarray(end + 4 + length);
  }
});

await request("initialize", {
  processId: process.pid,
  rootUri: null,
  capabilities: { workspace: { configuration: true }, textDocument: { completion: { completionItem: {} } } },
  initializationOptions: {},
});
send({ method: "initialized", params: {} });
send({ method: "workspace/didChangeConfiguration", params: { settings } });
send({ method: "textDocument/didOpen", params: { textDocument: { uri, languageId: "yaml", version: 1, text } } });
const found = await diagnostics;
const completion = await request("textDocument/completion", { textDocument: { uri }, position });
const items = Array.isArray(completion) ? completion : (completion?.items ?? []);
console.log(JSON.stringify({
  diagnostics: found.map(({ range, message }) => ({ line: range.start.line + 1, column: range.start.character + 1, message })),
  completions: items.map((item) => item.label),
}));
server.kill();
