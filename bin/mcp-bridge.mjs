// Connects an MCP client's stdin and stdout to the socket that is named: node mcp-bridge.mjs <socket>
import { connect } from 'node:net';

const socket = connect(process.argv[2]);
socket.on('error', ({ message }) => {
  process.stderr.write(`warpsmith can't be reached: ${message}\n`);
  process.exit(1);
});
socket.on('close', () => process.exit(0));
process.stdin.pipe(socket);
socket.pipe(process.stdout);
