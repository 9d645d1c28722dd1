// A pi extension with commands for what a person does in the session tree:
// /go ENTRY [summarize], /mark ENTRY NAME, and /edit ENTRY JSON, which takes effect when the agent next settles.
export default function (pi) {
  let edits = [];

  pi.registerCommand("go", {
    description: "Continue from another entry",
    handler: async (typed, ctx) => {
      const [entry, summarize] = typed.split(" ");
      await ctx.navigateTree(entry, { summarize: summarize === "summarize" });
    },
  });

  pi.registerCommand("mark", {
    description: "Label an entry",
    handler: async (typed) => {
      const [entry, ...name] = typed.split(" ");
      pi.setLabel(entry, name.join(" ") || undefined);
    },
  });

  pi.registerCommand("edit", {
    description: "Change what a model sees of an entry",
    handler: async (typed) => {
      const [entry, ...content] = typed.split(" ");
      edits.push({ type: "context_edit", targetId: entry, replacement: JSON.parse(content.join(" ")) });
    },
  });

  pi.on("agent_before_settle", () => {
    const entries = edits;
    edits = [];
    return { entries };
  });
}
