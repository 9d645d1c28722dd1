/**
 * A moment that the scrubber can show: an event, with how many tasks were open then.
 * @typedef {{id: string, at: number, kind: string, text: string, open: number, total: number}} Point
 */

/** @returns {Point[]} */
export function points(rows, session) {
  const steps = session.open || [];
  const at = (time) => {
    let found = steps[0] || [0, 0, 0];
    for (const step of steps) if (step[0] <= time) found = step;
    return found;
  };
  return rows.map((row) => ({
    id: row.id,
    at: row.at,
    kind: markKind(row),
    text: `${row.who} ${(row.what || []).join(", ")}`,
    open: at(row.at)[1],
    total: at(row.at)[2] ?? session.total,
  }));
}

// What a mark looks like: a person's directive is theirs, and a blocked task stands out among changes.
function markKind(row) {
  if (row.kind === "directive") return "person";
  return row.kind === "change" && (row.what || []).some((text) => text.startsWith("blocked")) ? "blocked" : row.kind;
}
