import { parentPort } from 'node:worker_threads';
import { UnsupportedPtxError } from '../../ptx/errors.ts';
import { DEVICE_MEMORY_MAXIMUM_PAGES, LANES, PAGE_BYTES } from '../../virtual-gpu/layout.ts';
import { PageTable } from '../../virtual-gpu/paging/page-table.ts';
import type { OlderRead, UninitialisedRead } from '../../virtual-gpu/race-detector/race-detector.ts';
import { WarpTracer } from '../../virtual-gpu/race-detector/warp-tracer.ts';
import { type WatchedWrite, type WatchedWrites, WriteWatcher } from '../../virtual-gpu/race-detector/write-watcher.ts';
import { CtaRunner } from '../../virtual-gpu/runtime/cta-runner.ts';
import { KernelFault } from '../../virtual-gpu/runtime/fault.ts';
import type { ClusterPrint } from '../../virtual-gpu/runtime/printing/print-log.ts';
import { Leftovers } from '../../virtual-gpu/runtime/private-contents.ts';
import { ReadMap } from '../../virtual-gpu/runtime/read-map.ts';
import { WriteMap } from '../../virtual-gpu/runtime/write-map.ts';
import {
  type FaultReport,
  type PrintReport,
  QUEUE,
  type StoreReport,
  type WorkerReply,
  type WorkerRequest,
  type WriteReport,
} from './protocol.ts';

/** What belongs to one device. */
class DeviceThread {
  readonly device: WebAssembly.Memory;
  readonly #runners = new Map<number, CtaRunner>();
  readonly #reads: ReadMap;
  readonly #leftovers = new Leftovers();
  readonly writes = new WriteMap();

  constructor({ device, reads }: WorkerRequest & { kind: 'attach' }) {
    this.device = 'ownBytes' in device ? memoryOf(device.ownBytes) : device;
    this.#reads = new ReadMap(reads);
  }

  load({ kernel, image, module }: WorkerRequest & { kind: 'load' }): void {
    const runner = new CtaRunner(image, this.device, this.writes, this.#reads, this.#leftovers);
    runner.attach(new WebAssembly.Instance(module, runner.imports));
    this.#runners.set(kernel, runner);
  }

  unload(kernel: number): void {
    this.#runners.delete(kernel);
  }

  runner(kernel: number): CtaRunner {
    return this.#runners.get(kernel)!;
  }
}

/** A memory that ends with this thread. Not one that others only hold, which would stay until they collect it. */
const memoryOf = (bytes: number): WebAssembly.Memory =>
  new WebAssembly.Memory({
    initial: Math.ceil(bytes / PAGE_BYTES),
    maximum: DEVICE_MEMORY_MAXIMUM_PAGES,
    shared: true,
  });

const port = parentPort!;
let thread: DeviceThread | undefined;

/** Takes clusters from the queue until it is empty or an earlier one has faulted. Most are one CTA. */
function run(
  request: WorkerRequest & { kind: 'run' },
  runner: CtaRunner,
  { device, writes }: DeviceThread,
): WorkerReply {
  const { job, launch, order, queue } = request;
  const pages = launch.paged && new PageTable(launch.paged, device);
  runner.begin(launch, { pages, tracer: WarpTracer, writeWatcher: WriteWatcher });
  let uninitialisedRead: FaultReport | undefined;
  let olderRead: FaultReport | undefined;
  let printed: PrintReport | undefined;
  for (;;) {
    const position = Atomics.add(queue, QUEUE.next, 1);
    if (position >= order.length || position > Atomics.load(queue, QUEUE.faultedAt)) break;
    try {
      const isPointless = (): boolean => position > Atomics.load(queue, QUEUE.faultedAt);
      const isLate = (): boolean => Atomics.load(queue, QUEUE.isLate) !== 0;
      const next = (): number | undefined => order[Atomics.add(queue, QUEUE.next, 1)];
      runner.runCluster(order[position]!, isPointless, isLate, next);
      uninitialisedRead ??= reportUninitialised(runner.uninitialisedRead, position);
      olderRead ??= reportOlder(runner.olderRead, position);
      printed = withPrint(printed, runner.takePrinted(), position);
    } catch (error) {
      const fault = report(error, position, order[position]!);
      // Those at earlier positions still finish, so that the reported fault is the first in launch order.
      let lowest = Atomics.load(queue, QUEUE.faultedAt);
      while (position < lowest) {
        const seen = Atomics.compareExchange(queue, QUEUE.faultedAt, lowest, position);
        if (seen === lowest) break;
        lowest = seen;
      }
      printed = withPrint(printed, runner.takePrinted(), position);
      return { job, ok: false, fault, printed };
    }
  }
  return {
    job,
    ok: true,
    counts: runner.image.counting ? runner.counts() : undefined,
    decisions: runner.decisions(),
    writes: request.tellsWrites ? writes.written() : undefined,
    crossed: runner.crossed,
    uninitialisedRead,
    olderRead,
    printed,
    watchedWrites: reportWrites(runner.watchedWrites),
    trace: runner.trace,
    touchedPages: runner.touchedPages(),
  };
}

function withPrint(
  before: PrintReport | undefined,
  print: ClusterPrint | undefined,
  position: number,
): PrintReport | undefined {
  if (!print) return before;
  const lines = print.lines.map((line) => ({ ...line, position }));
  return { lines: [...(before?.lines ?? []), ...lines], calls: (before?.calls ?? 0) + print.calls };
}

function reportWrites(writes: WatchedWrites | undefined): WriteReport | undefined {
  const plain = (write: WatchedWrite | undefined): StoreReport | undefined =>
    write && {
      cta: write.cta,
      thread: write.thread,
      instruction: write.instruction.text,
      source: write.instruction.source,
    };
  return writes && { count: writes.count, last: plain(writes.last), earlier: plain(writes.earlier) };
}

function report(error: unknown, position: number, cta: number): FaultReport {
  if (error instanceof UnsupportedPtxError) return unsupportedReport(error, position, cta);
  if (!(error instanceof KernelFault)) throw error;
  const { instruction, lane, warpIndex } = error;
  return {
    kind: error.kind,
    message: error.message,
    position,
    cta: error.cta ?? cta,
    thread: warpIndex === undefined || lane === undefined ? undefined : warpIndex * LANES + lane,
    address: error.address === undefined ? undefined : `0x${error.address.toString(16)}`,
    accessBytes: error.accessBytes,
    space: error.space,
    instruction: instruction?.text,
    ptxLine: instruction?.ptxLine,
    source: instruction?.source,
    buffer: error.buffer,
  };
}

/** A form that only its operands tell apart from those that virtual GPUs run. */
const unsupportedReport = ({ message }: UnsupportedPtxError, position: number, cta: number): FaultReport => ({
  ...{ kind: 'unsupported', message, position, cta },
  ...{ thread: undefined, address: undefined, accessBytes: undefined, space: undefined },
  ...{ instruction: undefined, ptxLine: undefined, source: undefined, buffer: undefined },
});

const reportOlder = (read: OlderRead | undefined, position: number): FaultReport | undefined =>
  read &&
  reportRead(
    'older-read',
    `a ${read.space} read of ${read.access.bytes} bytes, volatile or atomic, may give an older value than the last one written`,
    read,
    position,
  );

const reportUninitialised = (read: UninitialisedRead | undefined, position: number): FaultReport | undefined =>
  read &&
  reportRead(
    'uninitialised-read',
    `reads ${read.access.bytes} bytes of shared memory that nothing in the CTA has written`,
    { ...read, space: 'shared' },
    position,
  );

const reportRead = (
  kind: FaultReport['kind'],
  message: string,
  { access: { instruction, bytes }, space, address, cta, thread }: OlderRead,
  position: number,
): FaultReport => ({
  ...{ kind, message, position, cta, thread, space },
  address: `0x${address.toString(16)}`,
  accessBytes: bytes,
  instruction: instruction.text,
  ptxLine: instruction.ptxLine,
  source: instruction.source,
  buffer: undefined,
});

/** What is not copied, since this thread does not need it any more. */
const handedOver = ({ writes, touchedPages = [] }: WorkerReply & { ok: true }): ArrayBuffer[] =>
  [...(writes ? [writes] : []), ...touchedPages].map(({ bytes }) => bytes.buffer);

port.on('message', (request: WorkerRequest) => {
  switch (request.kind) {
    case 'attach':
      thread = new DeviceThread(request);
      return;
    case 'detach':
      thread = undefined;
      return;
    case 'load':
      thread!.load(request);
      return;
    case 'unload':
      thread!.unload(request.kernel);
      return;
    default: {
      const reply = run(request, thread!.runner(request.kernel), thread!);
      port.postMessage(reply, reply.ok ? handedOver(reply) : []);
    }
  }
});
