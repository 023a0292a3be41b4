import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { LineProcess } from '../../src/process/line-process.ts';
import { minimalEnvironment } from '../../src/process/minimal-environment.ts';
import { eventually, fixture, isRunning } from './processes.ts';

const started: LineProcess[] = [];
const start = (command = process.execPath): LineProcess => {
  const args = [fixture('answer-lines.mjs')];
  const child = new LineProcess({ command, args, cwd: tmpdir(), env: minimalEnvironment() });
  started.push(child);
  return child;
};
afterEach(async () => {
  for (const child of started.splice(0)) await child.close();
});

const ask = (child: LineProcess, what: string, payloads: Uint8Array[] = [], timeoutMs = 20_000) =>
  child.exchange({ header: { do: what }, payloads }, { timeoutMs });

describe('LineProcess', () => {
  it('exchanges lines and bytes, one question after the other', async () => {
    const child = start();
    const payloads = [randomBytes(3_000_000), new Uint8Array(0), randomBytes(17)];
    const [first, second] = await Promise.all([ask(child, 'echo', payloads), ask(child, 'echo')]);
    expect(first).toMatchObject({ ok: true, message: { header: { echoed: { do: 'echo' } } } });
    if (!first.ok) return;
    expect(first.message.payloads.map((payload, i) => Buffer.compare(payload, payloads[i]!))).toEqual([0, 0, 0]);
    expect(second).toMatchObject({ ok: true, message: { payloads: [] } });
  });

  it('puts an answer together however it is cut', async () => {
    const payload = Buffer.from('with\na line end in it\n');
    const answer = await ask(start(), 'pieces', [payload]);
    expect(answer).toMatchObject({ ok: true, message: { payloads: [payload] } });
  });

  it('kills the whole group when no answer comes in time, and answers nothing more', async () => {
    const child = start();
    const ended = { ok: false, end: { reason: 'timed-out', description: 'no answer within 0.5 s' } };
    expect(await ask(child, 'hang', [], 500)).toMatchObject(ended);
    expect(await ask(child, 'echo')).toMatchObject(ended);
    expect(child.isRunning).toBe(false);
    await eventually(() => !isRunning(child.pid!));
  });

  it('says how a program ended and what it last wrote', async () => {
    expect(await ask(start(), 'exit')).toMatchObject({
      ok: false,
      end: { reason: 'exited', description: 'ended with exit code 5', stderr: 'out of luck' },
    });
  });

  it.each(['garble', 'bad-sizes'])('ends a program that breaks the protocol: %s', async (what) => {
    const child = start();
    expect(await ask(child, what)).toMatchObject({ ok: false, end: { reason: 'malformed' } });
    expect(child.end?.description).toContain("its answer can't be read");
  });

  it('ends a program that answers what nobody asked', async () => {
    const child = start();
    expect(await ask(child, 'twice')).toMatchObject({ ok: true });
    await eventually(() => !child.isRunning);
    expect(child.end).toMatchObject({ reason: 'malformed' });
  });

  it('says when a program cannot be started', async () => {
    const outcome = await ask(start('/no/such/program'), 'echo');
    expect(outcome).toMatchObject({
      ok: false,
      end: { reason: 'not-started', description: expect.stringContaining('ENOENT') },
    });
  });

  it('ends when closed', async () => {
    const child = start();
    await ask(child, 'echo');
    await child.close();
    expect(isRunning(child.pid!)).toBe(false);
    expect(await ask(child, 'echo')).toMatchObject({ ok: false, end: { reason: 'closed' } });
  });
});
