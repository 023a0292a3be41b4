import { readFile } from 'node:fs/promises';
import type { LineCounters } from '../../src/core/counters.ts';
import type { LessonFigure } from '../../src/core/lessons/figures.ts';
import { ROOT } from './recordings.ts';

/** What the referee said of one kernel of a lesson. */
export interface RecordedKernel {
  readonly candidate: string;
  readonly status: string;
  /** Of a kernel that did not pass: why, which check found it, and where. */
  readonly mistake: readonly string[];
  /** Those of the kernel's figures that it has. */
  readonly figures: Partial<Record<LessonFigure, number>>;
  readonly findings: readonly { readonly id: string; readonly title: string }[];
  /** Of a start: lines of kernel.cu that access memory, wait or diverge, with their text. */
  readonly lines: readonly { readonly text: string; readonly counters: LineCounters }[];
}

export interface RecordedLesson {
  readonly name: string;
  readonly device: string;
  readonly start: RecordedKernel;
  /** The one that tests keep. */
  readonly solution: RecordedKernel;
}

/** docs/results/course.json, by scripts/record-course.ts. */
export interface CourseRecording {
  readonly schemaVersion: 1;
  readonly compiler: string;
  readonly lessons: readonly RecordedLesson[];
}

export const COURSE_RECORDING = new URL('docs/results/course.json', ROOT);

export const readCourseRecording = async (): Promise<CourseRecording> =>
  JSON.parse(await readFile(COURSE_RECORDING, 'utf8')) as CourseRecording;
