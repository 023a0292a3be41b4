import { formatFigure, formatRatio } from '../../src/reports/format.ts';
import type { Finding } from '../../src/server/wire.ts';

/** What limits the kernel, the largest estimated gain first. A place that names a line leads to it. */
export function Findings({
  findings,
  onLine,
}: {
  readonly findings: readonly Finding[];
  readonly onLine?: (line: number) => void;
}) {
  if (findings.length === 0) return <p class="note">No findings.</p>;
  return (
    <ol class="findings">
      {findings.map((finding) => (
        <li key={finding.id}>
          <p>
            <strong>{finding.title}</strong> <code>{finding.id}</code>, estimated gain{' '}
            {formatRatio(finding.estimatedSpeedup)}
          </p>
          {finding.evidence.map(({ counter, value, unit, threshold, comparison, where }) => (
            <p key={counter} class="note">
              {`${counter}: ${formatFigure(value)}${unit ? ` ${unit}` : ''}, ${comparison} ${formatFigure(threshold)}`}
              {where && <Where text={where} {...(onLine && { onLine })} />}
            </p>
          ))}
          <p>{finding.advice}</p>
        </li>
      ))}
    </ol>
  );
}

function Where({ text, onLine }: { readonly text: string; readonly onLine?: (line: number) => void }) {
  const line = Number(/:(\d+)\)?/.exec(text)?.[1] ?? Number.NaN);
  if (!onLine || Number.isNaN(line)) return <>; {text}</>;
  return (
    <>
      ;{' '}
      <button type="button" class="link" onClick={() => onLine(line)}>
        {text}
      </button>
    </>
  );
}
