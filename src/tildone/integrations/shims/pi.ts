// tildone for pi: reports pi's events to `tildone hook pi` and carries out the replies.
// `tildone install pi` wrote this file; `tildone uninstall pi` removes it.
// Errors in here never disturb pi; only a failed call of one of our tools is reported.

import { spawn } from "node:child_process";

const PROGRAM: string = "%PROGRAM%";
const ARGUMENTS: any = "%ARGUMENTS%";
const OPTIONS: string[] = ARGUMENTS.slice(1); // the first starts the MCP server, which pi does not use
const PARTS: any = "%PARTS%"; // which parts were installed: our tools, our hooks, or both
const SECONDS = 10;
const KIND = "tildone";

type Answer = { said: any; text: string; wrong: string };

/** The reply of tildone to an event: parsed (empty where there is none), as text, and any error message. */
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
        child.stdout.destroy(); // its children may still hold the other ends open
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

/** The text of the last message of the model. */
function last_message(messages: any[]): string {
  const last = messages.findLast((message) => message.role === "assistant");
  const parts = Array.isArray(last?.content) ? last.content : [];
  return parts.filter((part: any) => part.type === "text").map((part: any) => part.text).join("\n");
}

export default function (pi: any) {
  let begun = false; // whether the model of this conversation was given its plan

  const tell = (event: string, ctx: any, said: object = {}, signal?: AbortSignal) => {
    const sessionID = ctx.sessionManager.getSessionId();
    return answered(event, { sessionID, directory: ctx.cwd, event, ...said }, signal);
  };

  /** Registers a handler whose errors are ignored. */
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
        if (said.failed) throw new Error(said.text); // pi expects a failed tool call to throw
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
    // A turn that was interrupted, failed, or continues anyway is left alone.
    if (event.outcome !== "completed" || event.continue || ctx.hasPendingMessages()) return undefined;
    const text = last_message(event.context.contextMessages);
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
