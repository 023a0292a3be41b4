import type { CompiledCode } from '../../core/compiled-code.ts';
import type { KernelResources } from '../../core/counters.ts';
import type { DeviceBuffer, LoadedModule } from '../../core/device-values.ts';
import { EXIT, WarpsmithError } from '../../core/errors.ts';
import type { BufferId, ModuleId, ReplayId, SlotIds } from './worker/protocol.ts';
import type { Generation, WorkerClient } from './worker-client.ts';

/** What a handle stands for, and in which worker. */
interface Place {
  readonly id: number;
  readonly generation: Generation;
}

/**
 * Maps handles to the worker's objects. A handle of a worker that has ended can be released, which does nothing, but not
 * used.
 */
export class Handles {
  readonly #client: WorkerClient;
  readonly #places = new WeakMap<object, Place>();
  readonly #states = new WeakMap<LoadedModule, boolean>();

  constructor(client: WorkerClient) {
    this.#client = client;
  }

  addBuffer(name: string, bytes: number, id: BufferId): DeviceBuffer {
    return this.#add({ name, bytes }, id);
  }

  addModule(
    code: CompiledCode,
    loaded: { module: ModuleId; resources: Readonly<Record<string, KernelResources>> },
    hasState: boolean,
  ): LoadedModule {
    const module: LoadedModule = this.#add({ code, resources: loaded.resources }, loaded.module);
    this.#states.set(module, hasState);
    return module;
  }

  addReplay<T extends object>(replay: T, id: ReplayId): T {
    return this.#add(replay, id);
  }

  buffer(buffer: DeviceBuffer): BufferId {
    return this.#use(buffer, `buffer ${buffer.name}`);
  }

  module(module: LoadedModule): ModuleId {
    return this.#use(module, 'the module');
  }

  replay(replay: object): ReplayId {
    return this.#use(replay, 'the replay');
  }

  slot(buffers: ReadonlyMap<string, DeviceBuffer>): SlotIds {
    return [...buffers].map(([name, buffer]) => [name, this.buffer(buffer)] as const);
  }

  /** Whether the module has variables that a launch can change; true if unknown. */
  hasState(module: LoadedModule): boolean {
    return this.#states.get(module) ?? true;
  }

  /** The id; afterwards the handle is invalid. Undefined if its worker has ended. */
  takeBuffer(buffer: DeviceBuffer): BufferId | undefined {
    return this.#take(buffer, `buffer ${buffer.name}`);
  }

  takeModule(module: LoadedModule): ModuleId | undefined {
    return this.#take(module, 'the module');
  }

  takeReplay(replay: object): ReplayId | undefined {
    return this.#take(replay, 'the replay');
  }

  #add<T extends object>(handle: T, id: number): T {
    this.#places.set(handle, { id, generation: this.#client.generation });
    return handle;
  }

  #use(handle: object, what: string): number {
    const place = this.#places.get(handle);
    if (!place) throw new Error(`${what} is not allocated`);
    if (place.generation !== this.#client.generation) throw lost(what);
    return place.id;
  }

  #take(handle: object, what: string): number | undefined {
    const place = this.#places.get(handle);
    if (!place) throw new Error(`${what} is not allocated`);
    this.#places.delete(handle);
    return place.generation === this.#client.generation ? place.id : undefined;
  }
}

const lost = (what: string): WarpsmithError =>
  new WarpsmithError(
    {
      code: 'device-failed',
      message: `${what} was lost when the GPU's worker process ended.`,
      hint: 'Load and allocate again: the next command starts a new worker.',
    },
    EXIT.deviceOrToolMissing,
  );
