/**
 * Clang lowers the copy of a 16-byte aligned struct (float4, uint4, a union of half2[4]) to memcpy, which its NVPTX back
 * end splits into 8-byte accesses. A GPU programmer writes such types to get 16-byte accesses, and nvcc gives them. So
 * between the stages each such memcpy becomes 16-byte vector loads followed by the stores; the optimiser then sees through
 * them as through any other load and store.
 */

const WIDE_BYTES = 16;
/** Larger copies are left alone: they would hold too many registers at once. */
const MAXIMUM_COPY_BYTES = 128;

const VALUE = String.raw`(?:[%@](?:[\w.$-]+|"[^"]*")|(?:addrspacecast|getelementptr) [^%@]*\((?:[^()]|\([^()]*\))*\))`;
const MEMCPY = new RegExp(
  String.raw`^ {2}(?:tail )?call void @llvm\.memcpy\.p0\.p0\.i64\(ptr ([^%@]*?)(${VALUE}), ptr ([^%@]*?)(${VALUE}), i64 (\d+), i1 false\)(.*)$`,
  'gm',
);

/** Rewrites the wide copies of unoptimised LLVM IR text. */
export function widenCopies(ir: string): string {
  let copies = 0;
  return ir.replaceAll(
    MEMCPY,
    (line, toAttributes: string, to: string, fromAttributes: string, from: string, size: string, rest: string) => {
      const bytes = Number(size);
      const wide = alignment(toAttributes) >= WIDE_BYTES && alignment(fromAttributes) >= WIDE_BYTES;
      if (!wide || bytes === 0 || bytes % WIDE_BYTES !== 0 || bytes > MAXIMUM_COPY_BYTES) return line;
      const debug = /, !dbg !\d+/.exec(rest)?.[0] ?? '';
      return vectorCopy({ name: `ws.copy${copies++}`, to, from, bytes, debug });
    },
  );
}

const alignment = (attributes: string) => Number(/\balign (\d+)/.exec(attributes)?.[1] ?? 1);

function vectorCopy(copy: { name: string; to: string; from: string; bytes: number; debug: string }): string {
  const { name, to, from, bytes, debug } = copy;
  const offsets = Array.from({ length: bytes / WIDE_BYTES }, (_, index) => index * WIDE_BYTES);
  const address = (base: string, kind: string, offset: number): { value: string; lines: string[] } => {
    if (offset === 0) return { value: base, lines: [] };
    const value = `%${name}.${kind}${offset}`;
    return { value, lines: [`  ${value} = getelementptr inbounds i8, ptr ${base}, i64 ${offset}${debug}`] };
  };
  const loads = offsets.flatMap((offset) => {
    const { value, lines } = address(from, 'from', offset);
    return [...lines, `  %${name}.v${offset} = load <4 x i32>, ptr ${value}, align 16${debug}`];
  });
  const stores = offsets.flatMap((offset) => {
    const { value, lines } = address(to, 'to', offset);
    return [...lines, `  store <4 x i32> %${name}.v${offset}, ptr ${value}, align 16${debug}`];
  });
  return [...loads, ...stores].join('\n');
}
