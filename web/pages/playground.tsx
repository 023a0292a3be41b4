import { useEffect, useState } from 'preact/hooks';
import type { Draft, OpenedKernel, OpenedLesson } from '../../src/server/wire.ts';
import { getJson } from '../api.ts';
import { DraftForm } from '../parts/draft-form.tsx';
import { FileEditor } from '../parts/file-editor.tsx';
import { LessonPanel } from '../parts/lesson-panel.tsx';
import { LookTabs } from '../parts/look-tabs.tsx';
import { Waiting } from '../parts/notices.tsx';
import { type Route, useAsked } from '../use.ts';
import { useLook } from '../use-look.ts';

const FIRST_TARGET = 'softmax/03_online';
const FIRST_DEVICE = 'virtual:l4';
const STORED = 'warpsmith-draft ';

/** A kernel that is judged as it is typed: a lesson's with `lesson`, which may be a number, any other with `target`. */
export function PlaygroundPage({ query }: Route) {
  const lesson = query.get('lesson');
  const target = query.get('target') ?? FIRST_TARGET;
  const path =
    lesson === null ? `kernel?target=${encodeURIComponent(target)}` : `lesson?name=${encodeURIComponent(lesson)}`;
  const asked = useAsked((signal) => getJson<Opened>(`/playground/${path}`, signal), [path]);
  return (
    <>
      <h1>{asked.value?.lesson ? `Lesson ${asked.value.lesson.number}: ${asked.value.lesson.title}` : 'Playground'}</h1>
      {asked.value ? (
        <Bench key={path} opened={asked.value} />
      ) : (
        <Waiting asked={asked} what={`Reading ${lesson ?? target}`} />
      )}
    </>
  );
}

type Opened = OpenedKernel & Partial<Pick<OpenedLesson, 'lesson'>>;

const startOf = ({ target, files, workloads, lesson }: Opened): Draft => ({
  target,
  files,
  parameters: {},
  workload: lesson?.workload ?? workloads[0]?.name ?? '',
  device: lesson?.device ?? FIRST_DEVICE,
});

/** What was typed in this tab stays until it is closed. */
function useDraft(opened: Opened): [Draft, (change: Partial<Draft>) => void, () => void] {
  const key = `${STORED}${opened.target}`;
  const [draft, setDraft] = useState<Draft>(() => {
    const stored = sessionStorage.getItem(key);
    return stored === null ? startOf(opened) : (JSON.parse(stored) as Draft);
  });
  const change = (part: Partial<Draft>): void =>
    setDraft((before) => {
      const next = { ...before, ...part };
      sessionStorage.setItem(key, JSON.stringify(next));
      return next;
    });
  const reset = (): void => {
    sessionStorage.removeItem(key);
    setDraft(startOf(opened));
  };
  return [draft, change, reset];
}

const sourceOf = (files: Readonly<Record<string, string>>): string =>
  Object.keys(files).find((name) => name !== 'kernel.json') ?? 'kernel.json';

function Bench({ opened }: { readonly opened: Opened }) {
  const [draft, change, reset] = useDraft(opened);
  const [file, setFile] = useState(sourceOf(opened.files));
  const [line, setLine] = useState(1);
  const [goTo, setGoTo] = useState<{ readonly line: number }>();
  const looked = useLook(draft);
  useEffect(() => setGoTo(undefined), [file]);
  return (
    <>
      {opened.lesson && <LessonPanel lesson={opened.lesson} files={draft.files} />}
      <DraftForm
        {...{ opened, draft, change, reset }}
        launches={looked.look?.launches ?? []}
        openLaunch={() => setFile('kernel.json')}
      />
      <div class="beside even">
        <FileEditor
          files={draft.files}
          file={file}
          setFile={setFile}
          onText={(name, text) => change({ files: { ...draft.files, [name]: text } })}
          onLine={setLine}
          goTo={goTo}
          look={looked.look}
        />
        <LookTabs
          draft={draft}
          looked={looked}
          place={{ file, line }}
          onLine={(at) => {
            setFile(sourceOf(draft.files));
            setGoTo({ line: at });
          }}
        />
      </div>
    </>
  );
}
