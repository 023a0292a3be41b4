import { connect } from './client.ts';

/** A client that has a kernel judged, says so, and waits to be killed. */
const [, , words = '[]', input = '{}'] = process.argv;
const agent = await connect(JSON.parse(words) as string[]);
await agent.call('submit', JSON.parse(input) as Record<string, unknown>);
process.stdout.write(`${agent.pid}\n`);
setInterval(() => {}, 60_000);
