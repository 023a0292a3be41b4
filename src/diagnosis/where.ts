import type { LaunchCounters, LineCounters } from '../core/counters.ts';

/** The line of a launch with most of something; undefined when no line has any. */
function hottestLine(launch: LaunchCounters, amount: (line: LineCounters) => number): LineCounters | undefined {
  let hottest: LineCounters | undefined;
  for (const line of launch.lines) {
    if (amount(line) > (hottest ? amount(hottest) : 0)) hottest = line;
  }
  return hottest;
}

/** `attention (kernel.cu:42)`, or the function alone when lines are unknown. */
export function where(launch: LaunchCounters, amount?: (line: LineCounters) => number): string {
  const line = amount && hottestLine(launch, amount);
  return line ? `${launch.functionName} (${line.location.file}:${line.location.line})` : launch.functionName;
}

/** The place that {@link where} wrote into a text, such as `attention (kernel.cu:42): 12 requests`. */
export function placeIn(text: string): { file: string; line: number } | undefined {
  const [, file, line] = /\(([^()]+):(\d+)\)/.exec(text) ?? [];
  return file === undefined ? undefined : { file, line: Number(line) };
}
