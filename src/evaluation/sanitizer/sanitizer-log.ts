/** One complaint of compute-sanitizer, out of its text log. */
export interface SanitizerRecord {
  /** First line, e.g. `Invalid __global__ write of size 4 bytes`. */
  readonly headline: string;
  /** e.g. `attention(float*)+0x70`. */
  readonly functionName?: string;
  readonly source?: { readonly file: string; readonly line: number };
  readonly thread?: string;
  readonly cta?: string;
  readonly address?: string;
  /** Where the address lies, e.g. `1 bytes after the nearest allocation at 0x7f0000000000 of size 4000 bytes`. */
  readonly place?: string;
  /** Size of the allocation it lies in or nearest to. */
  readonly allocationBytes?: number;
}

export interface SanitizerLog {
  /** Whether the tool came to its end: only then does it print a summary. */
  readonly isComplete: boolean;
  /** Errors and hazards it counted, warnings about hazards included; more than were printed. */
  readonly errorCount: number;
  readonly records: readonly SanitizerRecord[];
  /** What the tool says about itself: why it could not start, and the like. */
  readonly remarks: readonly string[];
}

const PREFIX = /^={9} ?/;
const ERROR_SUMMARY = /^ERROR SUMMARY: ([\d,]+) errors?$/;
const HAZARD_SUMMARY = /^RACECHECK SUMMARY: ([\d,]+) hazards? displayed \(([\d,]+) errors?, ([\d,]+) warnings?\)/;
/** Lines that are no complaint about the kernel. */
const NOT_A_RECORD = /^(COMPUTE-SANITIZER|ERROR SUMMARY:|RACECHECK SUMMARY:|LEAK SUMMARY:|Process ID:|$)/;
const OF_THE_TOOL =
  /^(Error: (?!Race reported|Potential)|Internal Sanitizer Error|Target application|Unable|No attachable|Failed|Warning: (?!Race reported))/i;
/** Calls of the host that failed because of what the kernel did. */
const FAILED_CALL = /^Program hit /;

/** Reads a log written with `--log-file`: lines that begin with nine equals signs, details indented. */
export function parseSanitizerLog(text: string): SanitizerLog {
  const blocks: string[][] = [];
  let [isComplete, errorCount] = [false, 0];
  for (const line of text.split(/\r?\n/)) {
    if (!PREFIX.test(line)) continue;
    const content = line.replace(PREFIX, '');
    const count = summaryCount(content);
    if (count !== undefined) [isComplete, errorCount] = [true, errorCount + count];
    if (/^\s/.test(content)) blocks.at(-1)?.push(content.trim());
    else if (NOT_A_RECORD.test(content)) blocks.push([]);
    else blocks.push([content.trim()]);
  }
  const complaints = blocks.filter((block) => block.length > 0 && block[0] !== undefined);
  const headed = complaints.filter(([headline]) => !FAILED_CALL.test(headline!));
  return {
    isComplete,
    errorCount,
    records: headed.filter(([headline]) => !OF_THE_TOOL.test(headline!)).map(record),
    remarks: headed.filter(([headline]) => OF_THE_TOOL.test(headline!)).map((block) => block.join(' ')),
  };
}

const summaryCount = (content: string): number | undefined => {
  const errors = ERROR_SUMMARY.exec(content)?.[1];
  if (errors !== undefined) return wholeNumber(errors);
  const hazards = HAZARD_SUMMARY.exec(content);
  return hazards ? wholeNumber(hazards[2]!) + wholeNumber(hazards[3]!) : undefined;
};

const wholeNumber = (text: string): number => Number(text.replaceAll(',', ''));

function record(block: readonly string[]): SanitizerRecord {
  const text = block.join('\n');
  // `at f(int)+0x70 in kernel.cu:41`, `at 0x70 in kernel.cu:41:f(int)`, and the same without a line.
  const at = /(?:^| )at ((?:0x[0-9a-f]+|.+?\+0x[0-9a-f]+))(?: in ([^\n]+))?/m.exec(text);
  const location = at?.[2] === undefined ? undefined : /([^/\s]+):(\d+)(?::(.+))?/.exec(at[2]);
  const functionName = location?.[3] ?? (at && !at[1]!.startsWith('0x') ? at[1] : undefined);
  const thread = /by thread (\([^)]*\)) in block (\([^)]*\))/.exec(text);
  const address = /(?:Address|Access to|Access at) (0x[0-9a-f]+)/i.exec(text)?.[1];
  const place = /(?:and )?is ((?:[\d,]+ bytes (?:after|before)|inside|located)[^\n]*)/.exec(text)?.[1];
  const allocation = place === undefined ? undefined : /of size ([\d,]+)/.exec(place)?.[1];
  return {
    headline: block[0]!.replace(/ at (?:0x[0-9a-f]+|\S.*?\+0x).*$/, '').replace(/^(Error|Warning): /, ''),
    ...(functionName !== undefined && { functionName: functionName.replace(/\+0x[0-9a-f]+$/, '') }),
    ...(location && { source: { file: location[1]!, line: Number(location[2]) } }),
    ...(thread && { thread: thread[1]!, cta: thread[2]! }),
    ...(address !== undefined && { address }),
    ...(place !== undefined && { place }),
    ...(allocation !== undefined && { allocationBytes: wholeNumber(allocation) }),
  };
}
