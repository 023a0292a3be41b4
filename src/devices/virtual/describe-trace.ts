import type { SourceLocation } from '../../core/compiled-code.ts';
import type { DeviceBuffer } from '../../core/device-values.ts';
import type { TracedRequest, WarpTrace } from '../../core/warp-trace.ts';
import type { KernelImage } from '../../virtual-gpu/kernel-image.ts';
import type { TracedWarp } from '../../virtual-gpu/race-detector/warp-tracer.ts';
import type { DeviceRange } from '../../virtual-gpu/runtime/memories.ts';

/** Buffers of a launch, and where each lies. */
interface Placed {
  readonly buffers: readonly DeviceBuffer[];
  readonly ranges: readonly DeviceRange[];
}

/** A trace with source lines for blocks, and buffers for addresses of device memory. */
export function describeTrace({ turns, requests, isWhole }: TracedWarp, image: KernelImage, placed: Placed): WarpTrace {
  const linesOf = image.blockInstructions.map((block) => distinctLines(block.flatMap(({ source }) => source ?? [])));
  return {
    turns: turns.map(({ block, lanes }) => ({ lanes, instructions: image.weights[block]!, lines: linesOf[block]! })),
    requests: requests.map((request) => withBuffer(request, placed)),
    isWhole,
  };
}

const distinctLines = (places: readonly SourceLocation[]): SourceLocation[] => [
  ...new Map(places.map((place) => [`${place.file}:${place.line}`, place])).values(),
];

/** With the buffer in which all its addresses lie; a request to several at once is shown by plain addresses. */
function withBuffer(request: TracedRequest, { buffers, ranges }: Placed): TracedRequest {
  if (request.space !== 'global') return request;
  const { addresses, bytes } = request;
  const index = ranges.findIndex(({ start, bytes: length }) =>
    addresses.every((address) => address >= start && address + bytes <= start + length),
  );
  const range = ranges[index];
  if (!range) return request;
  return { ...request, buffer: buffers[index]!.name, addresses: addresses.map((address) => address - range.start) };
}
