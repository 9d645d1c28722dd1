// Goes about a session of pi as a person does in its tree, by commands that a test can send:
// /go ENTRY [summarize], /mark ENTRY NAME, and /edit ENTRY JSON, which is made when the agent next settles.
export default function (pi) {
  let edits = [];

  pi.registerCommand("go", {
    description: "Go on from another entry",
    handler: async (typed, ctx) => {
      const [entry, summarize] = typed.split(" ");
      await ctx.navigateTree(entry, { summarize: summarize === "summarize" });
    },
  });

  pi.registerCommand("mark", {
    description: "Give an entry a name",
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
