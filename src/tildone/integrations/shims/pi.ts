// tildone for pi: hands on what happens to `tildone hook pi`, and carries out what that answers.
// `tildone install pi` wrote this file; `tildone uninstall pi` takes it out again.
// Whatever goes wrong in here, pi goes on as if it were not there; only a call of our tool says that it failed.

import { spawn } from "node:child_process";

const PROGRAM: string = "%PROGRAM%";
const ARGUMENTS: any = "%ARGUMENTS%";
const OPTIONS: string[] = ARGUMENTS.slice(1); // the first is for hosts that have tool servers
const PARTS: any = "%PARTS%"; // what was asked for: our tools, our hooks, or both
const SECONDS = 10;
const KIND = "tildone";

type Answer = { said: any; text: string; wrong: string };

/** What tildone answers to an event: an object (an empty one where it has nothing to say), the text, and complaints. */
function answered(event: string, given: object, signal?: AbortSignal): Promise<Answer> {
  return new Promise((resolve) => {
    try {
      const child = spawn(PROGRAM, ["hook", "pi", event, ...OPTIONS], { stdio: "pipe", windowsHide: true });
      let out = "";
      let err = "";
      const end = (wrong: string) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", stop);
        resolve({ said: parsed(out), text: out.trim(), wrong });
      };
      const give_up = (wrong: string) => {
        child.kill("SIGKILL");
        child.stdout.destroy(); // what it has started may still hold the other ends
        child.stderr.destroy();
        child.unref();
        out = "";
        end(wrong);
      };
      const stop = () => give_up("interrupted");
      const timer = setTimeout(() => give_up(`no answer within ${SECONDS} seconds`), SECONDS * 1000);
      signal?.addEventListener("abort", stop);
      child.on("error", (error) => end(error.message));
      child.on("close", () => end(err.trim()));
      child.stdin.on("error", () => {});
      for (const stream of [child.stdout, child.stderr]) stream.on("error", () => {}).setEncoding("utf8");
      child.stdout.on("data", (text) => (out += text));
      child.stderr.on("data", (text) => (err += text));
      child.stdin.end(JSON.stringify(given));
    } catch (error) {
      resolve({ said: {}, text: "", wrong: String(error) });
    }
  });
}

function parsed(text: string): any {
  try {
    const found = JSON.parse(text);
    return found !== null && typeof found === "object" ? found : {};
  } catch {
    return {};
  }
}

/** The words that a model has said last. */
function last_words(messages: any[]): string {
  const last = messages.findLast((message) => message.role === "assistant");
  const parts = Array.isArray(last?.content) ? last.content : [];
  return parts.filter((part: any) => part.type === "text").map((part: any) => part.text).join("\n");
}

export default function (pi: any) {
  let begun = false; // whether this session's model was told its plan

  const tell = (event: string, ctx: any, said: object = {}, signal?: AbortSignal) => {
    const sessionID = ctx.sessionManager.getSessionId();
    return answered(event, { sessionID, directory: ctx.cwd, event, ...said }, signal);
  };

  /** A handler in which nothing goes wrong. */
  const on = (event: string, handler: (event: any, ctx: any) => Promise<any>, wanted: boolean = PARTS.hooks) =>
    wanted &&
    pi.on(event, async (given: any, ctx: any) => {
      try {
        return await handler(given, ctx);
      } catch {
        return undefined;
      }
    });

  const show = (ctx: any, line: string) => ctx.hasUI && ctx.ui.setStatus(KIND, line || undefined);

  const offer = (tool: any) =>
    pi.registerTool({
      name: tool.name,
      label: tool.label,
      description: tool.description,
      parameters: tool.parameters,
      promptSnippet: tool.snippet || undefined,
      promptGuidelines: tool.guidelines,
      executionMode: "sequential",
      async execute(_id: string, args: any, signal: AbortSignal | undefined, _update: any, ctx: any) {
        const { said, wrong } = await tell("call", ctx, { tool: tool.name, args }, signal);
        if (typeof said.text !== "string") throw new Error(wrong || "tildone does not answer");
        show(ctx, said.line);
        if (said.failed) throw new Error(said.text); // how pi wants a failure to be told
        return { content: [{ type: "text", text: said.text }], details: undefined };
      },
    });

  const start = async (_event: any, ctx: any) => {
    begun = false;
    const { said } = PARTS.mcp ? await tell("tools", ctx) : { said: {} };
    for (const tool of said.tools ?? []) offer(tool);
    if (ctx.hasUI) show(ctx, (await tell("status", ctx)).text);
  };

  on("session_start", start, true);

  on("before_agent_start", async (event, ctx) => {
    const first = begun ? undefined : (await tell("session_start", ctx)).said.context;
    begun = true;
    const { context } = (await tell("before_agent_start", ctx, { text: event.prompt })).said;
    const content = [first, context].filter(Boolean).join("\n");
    return content ? { message: { customType: KIND, content, display: false } } : undefined;
  });

  on("agent_before_settle", async (event, ctx) => {
    // What was interrupted, failed, or goes on anyway is not held up.
    if (event.outcome !== "completed" || event.continue || ctx.hasPendingMessages()) return undefined;
    const text = last_words(event.context.contextMessages);
    const { prompt, notice } = (await tell("agent_before_settle", ctx, { text })).said;
    if (notice && ctx.hasUI) ctx.ui.notify(notice, "warning");
    if (!prompt || ctx.hasPendingMessages()) return undefined;
    const nudge = { type: "custom_message", customType: KIND, content: prompt, display: true };
    return { entries: [...event.entries, nudge], continue: true };
  });

  on("tool_call", async (event, ctx) => {
    const { halt } = (await tell("tool_call", ctx, { tool: event.toolName })).said;
    return halt ? { block: true, reason: halt } : undefined;
  });

  on("session_compact", (_event, ctx) => tell("session_compact", ctx));

  on("session_shutdown", (event, ctx) => tell("session_shutdown", ctx, { reason: event.reason }));
}
