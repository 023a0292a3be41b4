import { type Lesson, loadLessons } from '../../src/app/course/lessons.ts';
import type { LineCounters } from '../../src/core/counters.ts';
import { FIGURE_ROWS } from '../../src/core/lessons/figures.ts';
import { figureText, goalText } from '../../src/reports/documents/lesson-check.ts';
import { formatFigure, formatNs } from '../../src/reports/format.ts';
import { markdownTable } from '../../src/reports/print/markdown.ts';
import { cutText, wrapText } from '../../src/reports/print/wrap.ts';
import { type RecordedKernel, type RecordedLesson, readCourseRecording } from './course-recording.ts';

/** Pages of lessons are printed on terminals as they are. */
const WIDTH = 78;

const bullet = (text: string): string => wrapText(`- ${text}`, WIDTH, 2).join('\n');

function each(requests: number, units: number, what: string, unit: string): string[] {
  if (requests === 0) return [];
  const mean = formatFigure(units / requests);
  return [`${formatFigure(requests)} ${what}, ${mean} ${unit}${mean === '1' ? '' : 's'} each`];
}

const several = (count: number, what: string): string[] => (count === 0 ? [] : [`${formatFigure(count)} ${what}`]);

/** What a line did, in words. */
const eventsOf = (line: LineCounters): string[] => [
  ...each(line.globalLoadRequests, line.globalLoadSectors, 'global loads', 'sector'),
  ...each(line.globalStoreRequests, line.globalStoreSectors, 'global stores', 'sector'),
  ...each(line.sharedLoadRequests, line.sharedLoadWavefronts, 'shared loads', 'wavefront'),
  ...each(line.sharedStoreRequests, line.sharedStoreWavefronts, 'shared stores', 'wavefront'),
  ...several(line.atomics, 'atomics'),
  ...several(line.barriers, 'waits of warps'),
  ...several(line.divergentBranches, 'branches on which lanes part'),
];

const NUMBER_WIDTH = 4;
const BAR = ' | ';

/** A line of the source with what it did below it. */
const lineText = ({ text, counters }: RecordedKernel['lines'][number]): string[] => {
  const gap = ' '.repeat(NUMBER_WIDTH);
  const indent = ' '.repeat(text.length - text.trimStart().length);
  const events = eventsOf(counters).map((event, index) => `${gap}${BAR}${indent}${index === 0 ? '^ ' : '  '}${event}`);
  const shown = cutText(text, WIDTH - gap.length - BAR.length);
  return [`${String(counters.location.line).padStart(NUMBER_WIDTH)}${BAR}${shown}`, ...events];
};

const fenced = (lines: readonly string[]): string => ['```text', ...lines, '```'].join('\n');

/** What the referee says of the start: its figures and lines, or its mistake. */
const startBlock = (lesson: Lesson, { start, device }: RecordedLesson): string => {
  const on = `On ${device}, compiled by clang; times are predicted.`;
  if (start.status !== 'passed') {
    return `The referee's verdict:\n\n${fenced(start.mistake.flatMap((line) => wrapText(line, WIDTH, 2)))}\n\n${on}`;
  }
  const rows = lesson.file.shown.map((figure) => {
    const value = start.figures[figure];
    return [FIGURE_ROWS[figure].label, value === undefined ? '–' : figureText(figure, value)];
  });
  const table = markdownTable([{ title: 'start' }, { title: '', align: 'right' }], rows);
  const findings = start.findings.map(({ id, title }) => bullet(`${title} [${id}]`)).join('\n');
  return [table, findings, fenced(start.lines.flatMap(lineText)), on].filter(Boolean).join('\n\n');
};

const goalsBlock = ({ file }: Lesson): string =>
  ['right on every check', ...file.goals.map((goal) => goalText(goal))].map(bullet).join('\n');

const timeOf = ({ status, figures }: RecordedKernel): string =>
  status === 'passed' && figures.time !== undefined ? formatNs(figures.time) : status;

/** The parts of the course's pages that are not written by hand, by the name of their block. */
export async function courseBlocks(): Promise<Record<string, string>> {
  const [lessons, recording] = [await loadLessons(), await readCourseRecording()];
  const pairs = lessons.map((lesson) => {
    const recorded = recording.lessons.find(({ name }) => name === lesson.file.name);
    if (!recorded) throw new Error(`${lesson.file.name} is not recorded: node scripts/record-course.ts`);
    return { lesson, recorded };
  });
  const pages = pairs.flatMap(({ lesson, recorded }) => [
    [`course-${lesson.file.name}-start`, startBlock(lesson, recorded)],
    [`course-${lesson.file.name}-goals`, goalsBlock(lesson)],
  ]);
  const overview = markdownTable(
    [
      { title: 'Lesson' },
      { title: 'The idea' },
      { title: 'Device' },
      { title: 'Start, predicted', align: 'right' },
      { title: 'A solution, predicted', align: 'right' },
    ],
    pairs.map(({ lesson: { file }, recorded }) => [
      `[${file.name.slice(0, 2)} ${file.title}](../../course/${file.name}/page.md)`,
      file.idea,
      file.device,
      timeOf(recorded.start),
      timeOf(recorded.solution),
    ]),
  );
  return { ...(Object.fromEntries(pages) as Record<string, string>), 'course-lessons': overview };
}
