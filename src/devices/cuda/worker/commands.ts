import { WarpsmithError } from '../../../core/errors.ts';
import { failureOf } from '../../../process/serve-worker.ts';
import { readFully, writeFully } from '../../../process/shared-scratch.ts';
import { INHERITED_DESCRIPTOR } from '../../../process/worker-process.ts';
import { CudaError } from '../driver/results.ts';
import { type Nvml, openNvml } from '../nvml/nvml.ts';
import { measurePeaks } from '../peaks/measure-peaks.ts';
import type { PeakMachine } from '../peaks/peak-machine.ts';
import { CudaContext, identifyGpu } from './cuda-context.ts';
import { CudaMeasuring } from './measuring.ts';
import type { CudaBuffer } from './memory.ts';
import type { CudaModule } from './module.ts';
import { OwnProcesses } from './own-processes.ts';
import {
  type BufferId,
  type CommandMessage,
  type CommandName,
  type CommandReply,
  type Commands,
  mapRound,
  type RoundRequest,
  type Shared,
  type SlotIds,
} from './protocol.ts';
import type { CudaReplay, CudaRound } from './replays.ts';
import { WrittenContents } from './written-contents.ts';

/** Things the parent knows by number. */
class Registry<T> {
  readonly #what: string;
  readonly #things = new Map<number, T>();
  #next = 1;

  constructor(what: string) {
    this.#what = what;
  }

  add(thing: T): number {
    this.#things.set(this.#next, thing);
    return this.#next++;
  }

  get(id: number): T {
    const thing = this.#things.get(id);
    if (thing === undefined) throw new Error(`${this.#what} ${id} is unknown`);
    return thing;
  }

  take(id: number): T {
    const thing = this.get(id);
    this.#things.delete(id);
    return thing;
  }
}

/** The worker's state: one context, and the objects that the parent created in it. */
class Session {
  readonly context: CudaContext;
  readonly measuring: CudaMeasuring;
  readonly nvml: Nvml | undefined;
  readonly buffers = new Registry<CudaBuffer>('buffer');
  readonly modules = new Registry<CudaModule>('module');
  readonly replays = new Registry<CudaReplay>('replay');
  readonly written = new WrittenContents();
  readonly ownProcesses = new OwnProcesses();

  constructor(ordinal: number) {
    this.context = CudaContext.open({ ordinal });
    this.measuring = new CudaMeasuring(this.context);
    this.nvml = openNvml(this.context.info.uuid);
  }

  slot(ids: SlotIds): Map<string, CudaBuffer> {
    return new Map(ids.map(([name, id]) => [name, this.buffers.get(id)]));
  }

  /** Draws or fills, of the buffers with these numbers. */
  on<T extends { readonly buffer: BufferId }>(requests: readonly T[]) {
    return requests.map((request) => ({ ...request, buffer: this.buffers.get(request.buffer) }));
  }

  round({ unchanged, ...parts }: RoundRequest): CudaRound {
    const round = mapRound(parts, (id) => this.buffers.get(id));
    return { ...round, unchanged: unchanged.map((place) => round.draws[place]!) };
  }
}

function fetched({ sharedAt, length }: Shared): Uint8Array {
  const bytes = new Uint8Array(length);
  readFully(INHERITED_DESCRIPTOR, bytes, sharedAt);
  return bytes;
}

type Handlers = {
  readonly [C in Exclude<CommandName, 'identify' | 'open' | 'together'>]: (
    session: Session,
    take: Commands[C]['take'],
  ) => Commands[C]['give'];
};

const HANDLERS: Handlers = {
  load({ context, modules }, { code, reading }) {
    const loaded = context.load(code, reading);
    if (!loaded.ok) return loaded;
    const { module } = loaded;
    return { ok: true, module: modules.add(module), resources: module.resources ?? {} };
  },
  unload({ context, modules }, { module }) {
    context.unload(modules.take(module));
    return undefined;
  },
  allocate: ({ context, buffers, written }, request) => buffers.add(written.follow(context.allocate(request))),
  free({ context, buffers, written }, { buffer }) {
    context.free(written.forget(buffers.take(buffer)));
    return undefined;
  },
  write({ context, buffers, written }, { writes }) {
    for (const { buffer: id, bytes: sent, offsetBytes } of writes) {
      const buffer = buffers.get(id);
      const bytes = 'sharedAt' in sent ? fetched(sent) : sent;
      context.write(buffer, bytes, offsetBytes);
      written.note(buffer, bytes);
    }
    return undefined;
  },
  fill({ context, buffers, written }, { buffer: id, pattern }) {
    const buffer = buffers.get(id);
    context.fill(buffer, pattern);
    written.note(buffer, undefined);
    return undefined;
  },
  read: ({ context, buffers }, { ranges }) =>
    ranges.map(({ buffer, offsetBytes, bytes, sharedAt }) => {
      const contents = context.read(buffers.get(buffer), offsetBytes, bytes);
      const isShared = sharedAt !== undefined && writeFully(INHERITED_DESCRIPTOR, contents, sharedAt);
      return isShared ? undefined : contents;
    }),
  damagedGuardBytes: ({ context, buffers }, { buffer }) => context.damagedGuardBytes(buffers.get(buffer)),
  isUnchanged: ({ context, buffers, written }, { buffer }) => written.isHeld(context, buffers.get(buffer)),
  run: (session, { module, plan, slot }) => session.context.run(session.modules.get(module), plan, session.slot(slot)),
  allocateArena: ({ measuring, buffers }, { requests, seed }) =>
    measuring.allocateArena(requests, seed).map((buffer) => buffers.add(buffer)),
  freeArena(session, { buffers }) {
    session.measuring.freeArena(buffers.map((buffer) => session.buffers.take(buffer)));
    return undefined;
  },
  draw(session, { draws }) {
    session.measuring.draw(session.on(draws));
    return undefined;
  },
  fillAll(session, { fills }) {
    session.measuring.fillAll(session.on(fills));
    return undefined;
  },
  prepareReplay(session, { module, plan, slots, alone }) {
    const places = { slots: slots.map((slot) => session.slot(slot)), alone: alone.map((slot) => session.slot(slot)) };
    const prepared = session.measuring.prepareReplay(session.modules.get(module), plan, places);
    return prepared.ok ? { ok: true, replay: session.replays.add(prepared.replay) } : prepared;
  },
  replayOnce: (session, { replay, round }) =>
    session.measuring.replayOnce(session.replays.get(replay), session.round(round)),
  releaseReplay({ measuring, replays }, { replay }) {
    measuring.releaseReplay(replays.take(replay));
    return undefined;
  },
  replayOverheadNs: ({ measuring }) => measuring.replayOverheadNs(),
  timeEager: (session, { module, plan, slot, ...limits }) =>
    session.measuring.timeEager(session.modules.get(module), plan, session.slot(slot), limits),
  measurePeaks: ({ context, measuring }, { libraryFolders }) =>
    context.guarded(() => measurePeaks(peakMachineOf(context, measuring), libraryFolders)),
  energyOf: ({ measuring, nvml, replays }, { replay, leastMs }) =>
    measuring.energyOf(replay === null ? undefined : replays.get(replay), leastMs, () => nvml?.energyMillijoules()),
  tally: ({ context }) => context.driver.tally.entries,
  state: ({ nvml, ownProcesses }) => nvml?.state((listed) => ownProcesses.among(listed)) ?? {},
};

/** Answers the parent's commands. `open` is the first that needs a context. */
export function createCommandHandler(): (message: CommandMessage) => CommandReply {
  let session: Session | undefined;
  const isLost = () => session?.context.isLost ?? false;
  const act = (message: CommandMessage): unknown => {
    if (message.command === 'identify') return { uuid: identifyGpu(message.take.ordinal) };
    if (message.command === 'open') {
      session = new Session(message.take.ordinal);
      return { info: session.context.info, maximumSmClockMhz: session.nvml?.maximumSmClockMhz() };
    }
    if (!session) throw new Error('the worker has no context yet');
    return (HANDLERS[message.command as keyof Handlers] as (session: Session, take: unknown) => unknown)(
      session,
      message.take,
    );
  };
  const answer = (message: CommandMessage): CommandReply => {
    try {
      const give = message.command === 'together' ? message.take.messages.map(answer) : act(message);
      return { kind: 'done', give: give as Extract<CommandReply, { kind: 'done' }>['give'], isLost: isLost() };
    } catch (error) {
      if (error instanceof WarpsmithError)
        return { kind: 'user-error', details: error.details, exitCode: error.exitCode, isLost: isLost() };
      if (error instanceof CudaError) return { kind: 'driver-error', message: error.message, isLost: isLost() };
      return { kind: 'failed', error: failureOf(error), isLost: isLost() };
    }
  };
  return answer;
}

/** The context as measuring its peaks needs it. */
const peakMachineOf = (context: CudaContext, measuring: CudaMeasuring): PeakMachine => ({
  l2Bytes: context.info.attributes.l2Bytes,
  stream: context.stream,
  allocate: (bytes) => context.driver.create('cuMemAlloc_v2', bytes),
  free: (address) => context.driver.call('cuMemFree_v2', address),
  apply: (name, jobs) => measuring.harness.apply(name, jobs),
  enqueue: (name, grid, values) => measuring.harness.enqueue(name, grid, values),
  synchronize: () => context.driver.call('cuStreamSynchronize', context.stream),
  timedNs: (enqueue) => measuring.timedNs(enqueue),
});
