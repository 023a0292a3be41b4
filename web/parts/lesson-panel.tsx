import MarkdownIt from 'markdown-it';
import { useMemo, useState } from 'preact/hooks';
import type { JudgedDraft, OpenedLesson } from '../../src/server/wire.ts';
import { postJson } from '../api.ts';
import { describeError } from '../use.ts';

/** Without HTML of its own. Links lead to files of the documentation, which are not here: their words stay. */
const markdown = new MarkdownIt({ html: false });
// As a class: the policy blocks styles in attributes.
for (const tag of ['th', 'td'])
  markdown.renderer.rules[`${tag}_open`] = (tokens, index) =>
    String(tokens[index]!.attrGet('style')).includes('right') ? `<${tag} class="number">` : `<${tag}>`;
markdown.renderer.rules.link_open = () => '<em>';
markdown.renderer.rules.link_close = () => '</em>';

/** What follows is for a terminal: the goals, which the panel below the page shows, and the command that checks them. */
const GOAL_HEADING = /^## Goal$/m;

interface LessonPanelProps {
  readonly lesson: OpenedLesson['lesson'];
  readonly files: Readonly<Record<string, string>>;
}

/** What a lesson says and asks, and what the referee says of the kernel as it is now. */
export function LessonPanel({ lesson, files }: LessonPanelProps) {
  const [judged, setJudged] = useState<JudgedDraft>();
  const [error, setError] = useState('');
  const [isBusy, setIsBusy] = useState(false);
  const html = useMemo(() => markdown.render(lesson.page.split(GOAL_HEADING)[0]!), [lesson.page]);
  const check = async (): Promise<void> => {
    setIsBusy(true);
    setError('');
    try {
      setJudged(await postJson<JudgedDraft>('/playground/check', { lesson: lesson.name, files }));
    } catch (failure) {
      setError(describeError(failure as Error));
    }
    setIsBusy(false);
  };
  return (
    <>
      <details class="panel" open>
        <summary>What the lesson says</summary>
        {/* The page came with warpsmith, and is never text of elsewhere. */}
        <div class="page-text" dangerouslySetInnerHTML={{ __html: html }} />
      </details>
      <section class="panel state" aria-label="Goals">
        <ul class="goals">
          {judged
            ? judged.goals.map((goal) => <Goal key={goal.text} {...goal} />)
            : lesson.goals.map((text) => <li key={text}>{text}</li>)}
        </ul>
        <div class="controls">
          <button type="button" class="primary" onClick={check} disabled={isBusy}>
            {isBusy ? 'Checking …' : 'Check'}
          </button>
          {judged?.solved && (
            <p class="good" role="status">
              Solved. {judged.next !== null && <a href={`#/playground?lesson=${judged.next}`}>Next lesson</a>}
            </p>
          )}
          {error !== '' && (
            <p class="notice bad" role="alert">
              {error}
            </p>
          )}
        </div>
      </section>
    </>
  );
}

function Goal({ text, holds, got, hints }: JudgedDraft['goals'][number]) {
  return (
    <li>
      <strong class={holds ? 'good' : 'bad'}>{holds ? 'holds' : 'not yet'}</strong> {text}
      {got !== undefined && `; yours: ${got}`}
      {hints.map((hint) => (
        <p key={hint} class="note">
          {hint}
        </p>
      ))}
    </li>
  );
}
