import type { ServeTurn } from '../app/author/command/command-author.ts';

/** The MCP server of agents that a run begins. It loads when the first one begins. What clients do wrong on the wire is theirs. */
export const serveAgents: ServeTurn = async (turn, socket) =>
  (await import('./socket.ts')).serveTurnAtSocket(turn, socket, () => {});
