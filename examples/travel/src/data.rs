//! The agency's destinations and prices.

use std::fmt;

use askback::{Error, Form, Result};

use Weather::{Cold as C, Hot as H, Mild as M};

/// The price of travel insurance per traveller, in US dollars.
pub(crate) const INSURANCE: u32 = 75;

pub(crate) struct Destination {
    pub(crate) name: &'static str,
    pub(crate) country: &'static str,
    pub(crate) airport: &'static str,
    pub(crate) about: &'static str,
    /// The price of a return flight per traveller, in US dollars.
    flight: u32,
    /// The price of a double room per night, in US dollars.
    night: u32,
    weather: [Weather; 12],
    pub(crate) postcard: &'static [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weather {
    /// Below 10 °C.
    Cold,
    /// From 10 to 25 °C.
    Mild,
    /// Above 25 °C.
    Hot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Form)]
pub(crate) enum Month {
    January,
    February,
    March,
    April,
    May,
    June,
    July,
    August,
    September,
    October,
    November,
    December,
}

pub(crate) const DESTINATIONS: [Destination; 8] = [
    Destination {
        name: "Barcelona",
        country: "Spain",
        airport: "BCN",
        about: "Gaudí's towers, tapas at midnight and a beach at the end of the metro.",
        flight: 450,
        night: 300,
        weather: [C, M, M, M, M, H, H, H, M, M, M, C],
        postcard: include_bytes!("postcards/barcelona.png"),
    },
    Destination {
        name: "Innsbruck",
        country: "Austria",
        airport: "INN",
        about: "A town between mountains: huts and hikes in summer, snow in winter.",
        flight: 380,
        night: 190,
        weather: [C, C, C, M, M, M, M, M, M, M, C, C],
        postcard: include_bytes!("postcards/innsbruck.png"),
    },
    Destination {
        name: "Kyoto",
        country: "Japan",
        airport: "KIX",
        about: "Temples and tea houses, cherry blossom in April, red maples in November.",
        flight: 980,
        night: 240,
        weather: [C, C, M, M, M, H, H, H, H, M, M, C],
        postcard: include_bytes!("postcards/kyoto.png"),
    },
    Destination {
        name: "Lisbon",
        country: "Portugal",
        airport: "LIS",
        about: "Seven hills, yellow trams, and custard tarts still warm.",
        flight: 410,
        night: 210,
        weather: [M, M, M, M, M, H, H, H, H, M, M, M],
        postcard: include_bytes!("postcards/lisbon.png"),
    },
    Destination {
        name: "Marrakesh",
        country: "Morocco",
        airport: "RAK",
        about: "Markets, mint tea and courtyards, with the desert behind the last house.",
        flight: 520,
        night: 160,
        weather: [M, M, M, M, H, H, H, H, H, H, M, M],
        postcard: include_bytes!("postcards/marrakesh.png"),
    },
    Destination {
        name: "New York",
        country: "United States",
        airport: "JFK",
        about: "Museums by day, jazz by night, and the park in between.",
        flight: 640,
        night: 350,
        weather: [C, C, C, M, M, H, H, H, M, M, C, C],
        postcard: include_bytes!("postcards/new-york.png"),
    },
    Destination {
        name: "Reykjavik",
        country: "Iceland",
        airport: "KEF",
        about: "Hot springs and cold winds, the midnight sun and the northern lights.",
        flight: 560,
        night: 280,
        weather: [C, C, C, C, C, M, M, M, C, C, C, C],
        postcard: include_bytes!("postcards/reykjavik.png"),
    },
    Destination {
        name: "Rome",
        country: "Italy",
        airport: "FCO",
        about: "Two thousand years on foot, with an espresso at every corner.",
        flight: 430,
        night: 260,
        weather: [C, M, M, M, M, H, H, H, H, M, M, C],
        postcard: include_bytes!("postcards/rome.png"),
    },
];

impl Destination {
    /// Returns the destination with this name, ignoring case.
    ///
    /// # Errors
    ///
    /// The names of all destinations.
    pub(crate) fn named(name: &str) -> Result<&'static Self> {
        let wanted = name.trim().to_lowercase();
        let found = DESTINATIONS
            .iter()
            .find(|destination| destination.name.to_lowercase() == wanted);
        found.ok_or_else(|| {
            let names = DESTINATIONS.each_ref().map(|destination| destination.name);
            Error::invalid_params(format!(
                "we do not travel to `{name}`; we do to {}",
                names.join(", ")
            ))
        })
    }

    /// Returns the total price of flights and hotel, in US dollars. Two travellers share a room.
    pub(crate) fn price(&self, nights: u8, travellers: u8) -> u32 {
        let rooms = u32::from(travellers.div_ceil(2));
        u32::from(travellers) * self.flight + rooms * u32::from(nights) * self.night
    }

    pub(crate) fn weather(&self, month: Month) -> Weather {
        self.weather[month as usize]
    }
}

impl Month {
    pub(crate) const ALL: [Self; 12] = [
        Self::January,
        Self::February,
        Self::March,
        Self::April,
        Self::May,
        Self::June,
        Self::July,
        Self::August,
        Self::September,
        Self::October,
        Self::November,
        Self::December,
    ];
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
