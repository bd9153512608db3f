// The bar at the bottom: buttons, speed, clock.
import type { State } from '../data/protocol';
import { byId, el } from '../shared/dom';
import { iconButton, setIcon } from '../shared/icons';
import type { Playback } from './playback';

const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 50];

function factorText(state: State): string {
  if (state.playing && state.factor > 0) return `${state.factor.toPrecision(2)}× real time`;
  return state.ended ? 'ended' : '';
}

export class TransportBar {
  private readonly now = document.createTextNode('– ');
  private readonly end = el('span', { class: 'clockend' });
  private readonly play: HTMLButtonElement;
  private readonly speed = byId<HTMLSelectElement>('speed');

  constructor(private readonly playback: Playback) {
    const { live } = playback;
    document.body.dataset.live = String(live);
    byId('clock').replaceChildren(this.now, this.end, 's');
    this.play = this.addButtons();
    for (const s of SPEEDS) this.speed.add(new Option(`${s}×`, String(s)));
    if (live) this.speed.add(new Option('fastest', '0'));
    this.speed.addEventListener('change', () =>
      playback.setSpeed(Number(this.speed.value), playback.isDirect),
    );
    const goLive = byId('golive');
    goLive.hidden = !live;
    goLive.addEventListener('click', () => playback.goLive());
    this.showMode();
  }

  /** Returns the button that plays and pauses. */
  private addButtons(): HTMLButtonElement {
    const { playback } = this;
    const { live } = playback;
    const add = (id: string, icon: string, label: string, click: () => void) => {
      const button = iconButton(icon, label, click);
      button.id = id;
      byId('buttons').append(button);
      return button;
    };
    add('first', 'first', 'to the beginning (Home)', () => playback.toBeginning());
    add('stepback', 'back', 'one frame back (←)', () => playback.step(-1));
    const play = add('play', 'play', 'play (space)', () => playback.toggle());
    const stepLabel = live ? 'one step (→)' : 'one frame forward (→)';
    add('step', 'next', stepLabel, () => playback.step(1));
    const endLabel = live ? 'to the newest (End)' : 'to the end (End)';
    add('last', 'last', endLabel, () => playback.toEnd());
    if (live) add('reset', 'reset', 'begin again (R)', () => playback.reset());
    return play;
  }

  showTime(): void {
    const { t, last } = this.playback;
    this.now.data = `${t.toFixed(3)} `;
    this.end.textContent = `/ ${Math.max(t, last).toFixed(last < 100 ? 2 : 0)} `;
  }

  /** Playing, following, speed. */
  showMode(): void {
    const { isRunning, isDirect, following, live } = this.playback;
    const pauseLabel = isDirect ? 'pause the run (space)' : 'pause (space)';
    const playLabel = isDirect ? 'run (space)' : 'play (space)';
    if (isRunning) setIcon(this.play, 'pause', pauseLabel);
    else setIcon(this.play, 'play', playLabel);
    if (live) {
      byId('golive').classList.toggle('on', following);
      byId('golive').setAttribute('aria-pressed', String(following));
      byId('badgelive').textContent = following ? '' : 'looking back into the record';
    }
    document.body.dataset.playing = String(isRunning);
    document.body.dataset.following = String(following);
    this.showSpeed();
  }

  private showSpeed(): void {
    const { speed } = this.playback;
    if (Number(this.speed.value) === speed) return;
    const isListed = [...this.speed.options].some((o) => Number(o.value) === speed);
    if (!isListed) this.speed.add(new Option(`${speed}×`, String(speed)));
    this.speed.value = String(speed);
  }

  /** How a live run is doing; another page may have changed its speed. */
  showState(state: State): void {
    const isChoosing = document.activeElement === this.speed;
    if (state.speed !== this.playback.speed && !isChoosing)
      this.playback.setSpeed(state.speed, false);
    byId('factor').textContent = factorText(state);
  }
}
