/** One complaint of compute-sanitizer, out of its text log. */
export interface SanitizerRecord {
  /** e.g. `Invalid __global__ write of size 4 bytes in f(float *), kernel.cu:41, by thread (31,0,0) of CTA (3,0,0); …`. */
  readonly description: string;
  /** Size of the allocation that contains the address or lies nearest to it. */
  readonly allocationBytes?: number;
}

export interface SanitizerLog {
  /** Whether the tool ran to its end: only then it prints a summary. */
  readonly isComplete: boolean;
  /** Errors and hazards that it counted, including warnings about hazards; it may print fewer. */
  readonly errorCount: number;
  readonly records: readonly SanitizerRecord[];
  /** The tool's messages about itself, such as why it could not start. */
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
  let block: string[] | undefined;
  let [isComplete, errorCount] = [false, 0];
  for (const line of text.split(/\r?\n/)) {
    if (!PREFIX.test(line)) continue;
    const content = line.replace(PREFIX, '');
    const count = summaryCount(content);
    if (count !== undefined) [isComplete, errorCount] = [true, errorCount + count];
    if (/^\s/.test(content)) {
      block?.push(content.trim());
      continue;
    }
    block = NOT_A_RECORD.test(content) ? undefined : [content.trim()];
    if (block) blocks.push(block);
  }
  const headed = blocks.filter(([headline]) => !FAILED_CALL.test(headline!));
  return {
    isComplete,
    errorCount,
    records: headed.filter(([headline]) => !OF_THE_TOOL.test(headline!)).map(record),
    remarks: headed.filter(([headline]) => OF_THE_TOOL.test(headline!)).map((block) => block.join(' ')),
  };
}

function summaryCount(content: string): number | undefined {
  const errors = ERROR_SUMMARY.exec(content)?.[1];
  if (errors !== undefined) return wholeNumber(errors);
  const hazards = HAZARD_SUMMARY.exec(content);
  return hazards ? wholeNumber(hazards[2]!) + wholeNumber(hazards[3]!) : undefined;
}

const wholeNumber = (text: string): number => Number(text.replaceAll(',', ''));

/** Frames of inlined calls and of the host, which are skipped: the first line of a complaint already has the place. */
const FRAME = /^(Device Frame|Host Frame|Saved host backtrace)/;

function record(block: readonly string[]): SanitizerRecord {
  const lines = block.filter((line) => line !== '' && !FRAME.test(line));
  const allocation = lines.map((line) => /allocation at 0x[0-9a-f]+ of size ([\d,]+)/.exec(line)?.[1]).find(Boolean);
  return {
    description: lines
      .map(inWords)
      .join('')
      .replace(/^Error: /, '')
      .replace(/^Warning: /, 'warning: '),
    allocationBytes: allocation !== undefined ? wholeNumber(allocation) : undefined,
  };
}

/** `at f(int)+0x70 in /a/kernel.cu:41`; the line may be missing, and older versions name the function last. */
const PLACE = /\bat (?:(0x[0-9a-f]+)|(\S.*?)\+0x[0-9a-f]+)(?: in (?:\S*\/)?([^/\s:]+:\d+)(?::(.+))?)?/g;

/** Patterns of the further lines of a complaint, with their wording in a sentence. */
const CONTINUATIONS: readonly (readonly [RegExp, string])[] = [
  [/^by thread (\([^)]*\)) in block (\([^)]*\))/, ', by thread $1 of CTA $2'],
  [/^(?:Address|Access to|Access at) (0x[0-9a-f]+)/, '; address $1'],
  [/^and is /, ', '],
];

/** One line of a complaint as a part of a sentence. */
function inWords(line: string, index: number): string {
  const text = line.replace(/\.$/, '');
  const continuation = CONTINUATIONS.find(([pattern]) => pattern.test(text));
  if (continuation) return text.replace(...continuation);
  const placed = text.replaceAll(PLACE, (_, offset: string, name: string, source: string, lastName: string) =>
    [`in ${name ?? lastName ?? `code at ${offset}`}`, source].filter(Boolean).join(', '),
  );
  return index === 0 ? placed : ` ${placed}`;
}
