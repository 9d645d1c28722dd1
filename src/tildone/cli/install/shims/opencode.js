// tildone for opencode.
export const Tildone = async () => ({})
