//! Defaults of options from `straggler.toml`, for people who type the same options again and again.
//!
//! A key is the name of an option and holds for every command that has the option; what is typed wins. The definition of
//! the command line gets the values as defaults, so no command knows about the file. Two files are read: that of the
//! working folder or its parents, and that of the user, whose keys hold where the first has none.

use crate::kernel::prelude::*;
use clap::error::{ContextKind, ContextValue};
use clap::{ArgMatches, Command, parser::ValueSource};
use std::{collections::BTreeMap, fmt::Display, sync::OnceLock};
use straggler_model::spelling::{hint, nearest};
use straggler_model::toml_file;

pub const FILE: &str = "straggler.toml";

/// The keys, and commands whose option of that name means something else.
const KEYS: [(&str, &[&str]); 6] = [
    // There it is a change to try, not the network that the program ran on.
    ("network", &["whatif"]),
    // There the first core measures, and the second answers.
    ("cores", &["latency"]),
    ("seed", &[]),
    ("threads", &[]),
    ("device", &[]),
    ("color", &[]),
];

/// A default, and where it comes from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Setting {
    pub option: &'static str,
    pub value: String,
    pub file: PathBuf,
    #[serde(skip)]
    line: usize,
}

impl Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "--{} {} from {}, line {}", self.option, self.value, self.file.display(), self.line)
    }
}

/// All defaults that files set.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Defaults(Vec<Setting>);

/// Numbers need no quotes.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a text in quotes or a whole number")]
enum Value {
    Text(String),
    Number(u64),
}

impl Defaults {
    /// Those of the working folder and of the user.
    pub fn find() -> Outcome<Defaults> {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let of_user =
            std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let of_user = of_user.or_else(|| home.as_ref().map(|home| home.join(".config")));
        let here = std::env::current_dir().ok().and_then(|folder| above(&folder, home.as_deref()));
        let of_user = of_user.map(|folder| folder.join("straggler").join(FILE)).filter(|file| file.is_file());
        let mut all = Defaults::default();
        for file in here.into_iter().chain(of_user) {
            let text = std::fs::read_to_string(&file).map_err(|fault| unreadable(&file, &fault))?;
            let settings = parse(&text, &file)
                .map_err(|fault| Failure::bad_input(format!("{}: {fault}", file.display())))?;
            let new = settings.into_iter().filter(|one| all.0.iter().all(|known| known.option != one.option));
            let new: Vec<Setting> = new.collect();
            all.0.extend(new);
        }
        Ok(all)
    }

    /// The definition of the command line with these defaults.
    pub fn apply(&self, command: Command) -> Command {
        self.0.iter().fold(command, with_default)
    }

    /// An error of the parser that is due to a setting, with the place of the setting.
    pub fn blamed(&self, error: &clap::Error) -> Option<Failure> {
        let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else { return None };
        let setting = self.0.iter().find(|setting| {
            option.strip_prefix("--").and_then(|name| name.split(' ').next()) == Some(setting.option)
        })?;
        let text = error.to_string();
        let what = text.lines().next().unwrap_or_default();
        let text = format!(
            "{}, line {}: {}",
            setting.file.display(),
            setting.line,
            what.trim_start_matches("error: ")
        );
        Some(Failure::new(Exit::Usage, anyhow::Error::msg(text)))
    }

    /// Remembers the settings that this command line uses, for results to name.
    pub fn note_used(self, matches: &ArgMatches) {
        let mut leaf = matches;
        while let Some((_, below)) = leaf.subcommand() {
            leaf = below;
        }
        let is_default = |option: &str| {
            leaf.ids().any(|id| id == option) && leaf.value_source(option) == Some(ValueSource::DefaultValue)
        };
        // Colours change no result.
        let used = |setting: &Setting| setting.option != "color" && is_default(setting.option);
        let _ = USED.set(self.0.into_iter().filter(used).collect());
    }
}

static USED: OnceLock<Vec<Setting>> = OnceLock::new();

/// The settings that hold for this run, because the command has the option and nobody typed it.
pub fn used() -> &'static [Setting] {
    USED.get().map_or(&[], Vec::as_slice)
}

/// The settings that an error may be about: their values are in its text.
pub fn mentioned(text: &str) -> impl Iterator<Item = &'static Setting> + '_ {
    used()
        .iter()
        .filter(move |setting| setting.value.parse::<u64>().is_err() && text.contains(&setting.value))
}

fn with_default(command: Command, setting: &Setting) -> Command {
    let is_option = |arg: &clap::Arg| arg.get_long() == Some(setting.option);
    let named = command.get_arguments().find(|arg| is_option(arg)).map(|arg| arg.get_id().clone());
    let command = match named {
        // The parser keeps the text as long as the program runs.
        Some(id) => {
            command.mut_arg(id, |arg| arg.required(false).default_value(setting.value.clone().leak() as &str))
        }
        None => command,
    };
    let others = KEYS.iter().find(|(key, _)| *key == setting.option).map_or(&[][..], |(_, others)| others);
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_string()).collect();
    names
        .iter()
        .filter(|name| !others.contains(&name.as_str()))
        .fold(command, |command, name| command.mut_subcommand(name, |below| with_default(below, setting)))
}

/// The file of a folder or of the nearest parent that has one, up to the repository or the home folder that the folder is
/// in. Outside of both, only the folder itself counts: others may write to its parents.
fn above(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let is_end = |folder: &Path| folder.join(".git").exists() || Some(folder) == home;
    let end = folder.ancestors().position(is_end).unwrap_or(0);
    folder.ancestors().take(end + 1).map(|folder| folder.join(FILE)).find(|file| file.is_file())
}

fn parse(text: &str, file: &Path) -> Result<Vec<Setting>, String> {
    let all: BTreeMap<String, Value> = toml_file::read(text).map_err(|fault| fault.to_string())?;
    let setting = |(key, value): (String, Value)| {
        let line = 1 + text.lines().position(|line| key_of(line) == key).unwrap_or(0);
        let known = KEYS.iter().map(|(key, _)| *key);
        let Some(option) = known.clone().find(|known| *known == key) else {
            let all = known.clone().collect::<Vec<_>>().join(", ");
            return Err(format!(
                "line {line}: unknown key `{key}`; the keys are {all}{}",
                hint(nearest(&key, known))
            ));
        };
        let value = match value {
            Value::Text(text) => text,
            Value::Number(number) => number.to_string(),
        };
        Ok(Setting { option, value, file: file.to_path_buf(), line })
    };
    all.into_iter().map(setting).collect()
}

/// The key that a line sets.
fn key_of(line: &str) -> &str {
    line.split('=').next().unwrap_or_default().trim().trim_matches(['"', '\''])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::definition;

    fn defaults(text: &str) -> Defaults {
        Defaults(parse(text, Path::new("s.toml")).unwrap())
    }

    #[test]
    fn every_key_is_an_option_of_some_command() {
        fn has(command: &Command, key: &str) -> bool {
            command.get_arguments().any(|arg| arg.get_long() == Some(key))
                || command.get_subcommands().any(|below| has(below, key))
        }
        for (key, others) in KEYS {
            assert!(has(&definition(), key), "{key}");
            assert!(
                others.iter().all(|name| definition().find_subcommand(name).is_some_and(|it| has(it, key)))
            );
        }
    }

    #[test]
    fn what_is_typed_wins_and_other_commands_do_not_change() {
        let all = defaults("network = 'chic'\nseed = 7\ncores = '0-1'");
        let parsed = |line: &str| {
            let matches = all.apply(definition()).try_get_matches_from(line.split(' ')).unwrap();
            let mut leaf = matches;
            while let Some((_, below)) = leaf.remove_subcommand() {
                leaf = below;
            }
            leaf
        };
        let simulate = parsed("s simulate --collective barrier --processes 4");
        assert_eq!(simulate.get_one::<String>("network").unwrap(), "chic");
        assert_eq!(simulate.get_one::<u64>("seed"), Some(&7));
        let typed = parsed("s --seed 3 simulate --collective barrier --processes 4 --network altix");
        assert_eq!(typed.get_one::<String>("network").unwrap(), "altix");
        assert_eq!(typed.get_one::<u64>("seed"), Some(&3));
        assert_eq!(parsed("s whatif run --search").get_one::<String>("network"), None);
        assert!(parsed("s noise measure").contains_id("cores"));
        assert!(!parsed("s latency measure --kernel tcp").contains_id("cores"));
        // A default contradicts nothing that is typed.
        assert!(parsed("s assess chic").contains_id("noise"));
        assert!(parsed("s simulate run --fit").contains_id("fit"));
    }

    #[test]
    fn the_definition_stays_sound() {
        defaults("network = 'chic'\ncores = '0'\nseed = 1\nthreads = 2\ndevice = 'cpu'\ncolor = 'never'")
            .apply(definition())
            .debug_assert();
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let fault = |text: &str| parse(text, Path::new("s.toml")).unwrap_err();
        let unknown = fault("seed = 1\n\nnetwrok = 'chic'");
        assert!(
            unknown.starts_with("line 3: unknown key `netwrok`; the keys are network, cores"),
            "{unknown}"
        );
        assert!(unknown.ends_with("did you mean `network`?"), "{unknown}");
        let wrong = fault("seed = [1]");
        assert!(
            wrong.starts_with("line 1, ") && wrong.contains("a text in quotes or a whole number"),
            "{wrong}"
        );
        let all = defaults("seed = 1\nthreads = 'many'");
        let error = all.apply(definition()).try_get_matches_from(["s", "network", "list"]).unwrap_err();
        let blamed = all.blamed(&error).unwrap().error.to_string();
        assert!(
            blamed.starts_with("s.toml, line 2: invalid value 'many' for '--threads <N>': give"),
            "{blamed}"
        );
    }

    #[test]
    fn the_nearest_file_counts_up_to_the_repository_or_home() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        std::fs::create_dir_all(at("home/work/deep")).unwrap();
        let write = |path: &str| std::fs::write(at(path), "").unwrap();
        write("straggler.toml");
        let found = |home: Option<&str>| above(&at("home/work/deep"), home.map(at).as_deref());
        assert_eq!((found(None), found(Some("home"))), (None, None));
        write("home/straggler.toml");
        assert_eq!((found(None), found(Some("home"))), (None, Some(at("home/straggler.toml"))));
        std::fs::create_dir(at("home/work/.git")).unwrap();
        assert_eq!(found(Some("home")), None);
        write("home/work/straggler.toml");
        assert_eq!(found(None), Some(at("home/work/straggler.toml")));
        write("home/work/deep/straggler.toml");
        assert_eq!(found(None), Some(at("home/work/deep/straggler.toml")));
    }
}
